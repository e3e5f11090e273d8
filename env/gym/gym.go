// Package gym runs environments of Gymnasium and of PettingZoo, and everything that
// follows their interfaces, as environments of this project's contract.
//
// Environments live in Python worker processes, several to each. Actions,
// observations, rewards and flags lie in shared memory that has no name: nothing
// is left of it when its processes are gone, however they ended. A byte through a
// pipe says that a step is to be done, another that it is; end of file says that
// the other side is gone. Which worker an environment lives in changes nothing of
// what it does.
package gym

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Options are the settings of an environment of Gymnasium. Settings that are none
// of these are keyword arguments of its constructor.
type Options struct {
	Python    string        `names:"program" doc:"Python interpreter; empty is that of WEFT_PYTHON, or python3"`
	Workers   int           `default:"0" unit:"processes" range:"[0,)" doc:"Python processes of a replica; 0 is one for each core, divided among replicas, and a single one if steps are short"`
	Timeout   time.Duration `default:"60s" range:"(0s,)" doc:"time limit of a step, or of the start, after which a process counts as hanging"`
	OnFailure string        `default:"stop" oneof:"stop restart" doc:"reaction to an environment's failure: stop the run, or restart the environments of its process"`
	Wrappers  []string      `doc:"wrappers, innermost first: Name of gymnasium.wrappers (pettingzoo.utils.wrappers) or module:Name, with keyword arguments as in ClipReward(min_reward=-1;max_reward=1)"`
	Bounds    string        `default:"strict" oneof:"strict open" doc:"strict stops the run at an observation outside its space; open ignores the bounds of numbers"`
	Exact     bool          `default:"true" doc:"save the environments' own state, if a test shows that it can be restored, so that a run resumes exactly"`
	Show      bool          `default:"false" doc:"print the output of the environments"`

	args map[string]json.RawMessage
}

func newOptions() any { o := defaults(); return &o }

func defaults() Options {
	return Options{Timeout: time.Minute, OnFailure: "stop", Bounds: "strict", Exact: true}
}

// SetExtra takes a keyword argument of the environment's constructor: JSON, or
// plain text. An argument that has the name of an option is given as arg.NAME.
func (o *Options) SetExtra(key, value string) error { return setArg(&o.args, key, value) }

// Scheme offers every environment that Gymnasium can make, as gym:CartPole-v1.
var Scheme = env.Scheme{
	Prefix:   "gym",
	Doc:      "an environment of Gymnasium by its id, by module:id, or a class by module:Class",
	Example:  "gym:FrozenLake-v1?is_slippery=false",
	Packages: []string{"gymnasium", "numpy"},
	Options:  newOptions,
	Open:     Entry,
}

// Entry offers an environment of Gymnasium: its id, an id with the module that
// registers it (module:Id-v0), or a class or function of a module (module:Class).
func Entry(id string) (env.Entry, error) {
	if id == "" {
		return env.Entry{}, errors.New("no environment named: write its id, as in gym:CartPole-v1")
	}
	if strings.HasPrefix(id, "ALE/") {
		return atariEntry("gym:"+id, id, false), nil
	}
	full, seen := "gym:"+id, new(catalogue)
	return env.Entry{
		ID: full, Doc: id + " through Gymnasium", Kind: kindOf(id), Options: newOptions,
		New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
			o, ok := options.(*Options)
			if !ok {
				return nil, fmt.Errorf("its options are a %T, want *gym.Options", options)
			}
			return openAlone(s, n, *o, request{name: full, id: id, seen: seen})
		},
	}, nil
}

// request describes the environments that workers make, apart from how they run.
type request struct {
	name  string // full, for messages
	id    string
	atari *atariArgs
	zoo   *zooArgs
	seen  *catalogue
}
