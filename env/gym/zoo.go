package gym

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// ZooOptions are the settings of an environment of PettingZoo.
type ZooOptions struct {
	Options
	Kinds  string `default:"names" oneof:"names spaces" doc:"grouping of agents into kinds: by equal spaces and names that differ only in their number, or by equal spaces"`
	Mortal string `default:"auto" oneof:"auto yes no" doc:"agents may be out of play before the episode is over; auto plays a few steps to find out"`
	State  bool   `default:"true" doc:"give the environment's state(), if it has one, to centralised critics"`
}

// zooArgs is the same as workers are told.
type zooArgs struct {
	Kinds  string `json:"kinds"`
	Mortal string `json:"mortal"`
	State  bool   `json:"state"`
}

func zooDefaults() any {
	return &ZooOptions{Options: defaults(), Kinds: "names", Mortal: "auto", State: true}
}

// ZooScheme offers environments with several agents that follow PettingZoo's
// interface, as zoo:mpe2.simple_spread_v3.
var ZooScheme = env.Scheme{
	Prefix:   "zoo",
	Doc:      "an environment of PettingZoo by its module, or a class by module:Class",
	Example:  "zoo:mpe2.simple_spread_v3?N=3",
	Packages: []string{"pettingzoo", "numpy"},
	Options:  zooDefaults,
	Open:     Zoo,
}

// Zoo offers an environment of PettingZoo: the module that has its parallel_env or
// env, or a class or function of a module (module:Class). Agents that act one
// after another, and not all at once, make it an environment by turns (env.Spec's
// Turns).
func Zoo(id string) (env.Entry, error) {
	if id == "" {
		return env.Entry{}, errors.New("no environment named: write its module, as in zoo:mpe2.simple_spread_v3")
	}
	full, seen := "zoo:"+id, new(catalogue)
	return env.Entry{
		ID: full, Doc: id + " through PettingZoo", Kind: env.Teams, Options: zooDefaults,
		NewGroups: func(s *rl.Scope, n int, options any) (env.Groups, error) {
			o, ok := options.(*ZooOptions)
			if !ok {
				return nil, fmt.Errorf("its options are a %T, want *gym.ZooOptions", options)
			}
			b, err := open(s, n, o.Options, request{name: full, id: id, zoo: &zooArgs{o.Kinds, o.Mortal, o.State}, seen: seen})
			if err != nil {
				return nil, err
			}
			return b, nil
		},
	}, nil
}
