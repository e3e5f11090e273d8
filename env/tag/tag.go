// Package tag is continuous tag as a graph environment: taggers chase runners on a
// square plane, any number of either. It is the game of WarpDrive (Lan et al.,
// "WarpDrive: Extremely Fast End-to-End Deep Multi-Agent Reinforcement Learning on a
// GPU", 2021), its environment tag_continuous, by which MSRL was measured too.
//
// Rules, kinematics and defaults are those of WarpDrive's published configuration of
// 5 taggers and 100 runners. A move is one of a few changes of acceleration and one
// of a few turns, the first of each being none. Acceleration adds up until a speed
// meets a bound, where it is 0 again; nobody passes a wall. A runner nearer to a
// tagger than the tagging distance is tagged, for which the nearest tagger is
// rewarded, and leaves the game, unless it is to stay. The game ends after a number
// of steps, of which agents know the part that is over, or when no runner is left.
//
// Three things differ. There runners stand still and do not learn; here they run and
// learn, half as fast as taggers and at a loss when tagged, unless option runner_policy
// says otherwise. There an agent sees the nearest agents of both kinds and nothing of
// itself; here it sees itself and the nearest of the other kind, in directions
// relative to its own, and of its own kind if option mates says so. Every episode
// draws its own places and directions.
//
// # Size
//
// What is stored is 20 bytes for each agent, 1 for each runner and 4 for each
// environment, and observations, 4 (7 + 6 seen) bytes for an agent that sees that
// many. With 5 taggers, 995 runners and 10 neighbours that is 21 kB and 149 kB for an
// environment, half of which disappears with neighbours=2. Distances are 5 x 995
// pairs and never 1000 x 1000, and each is a few operations that end in a minimum, so
// that a compiler that fuses needs no memory for them. The nearest k are k such
// minima, of one integer that has the distance in its upper bits and the agent in its
// lower ones: no sort.
package tag

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// All are the environments of this package.
var All = []env.Entry{Tag}

// Options are the settings of Tag.
type Options struct {
	Taggers int `default:"5" unit:"agents" range:"[1,)" doc:"agents that chase"`
	Runners int `default:"100" unit:"agents" range:"[1,)" doc:"agents that flee"`

	Size   float64 `default:"20" range:"(0,)" doc:"side of the plane"`
	Length int     `default:"500" unit:"steps" range:"[1,)" doc:"steps after which the game is over"`
	Reach  float64 `default:"0.02" range:"(0,1]" doc:"distance within which a runner is tagged, as a part of the side"`
	Leave  bool    `default:"true" doc:"tagged runners leave the game; otherwise they run on, and can be tagged at every step"`

	TaggerSpeed        float64 `default:"1" range:"(0,)" doc:"largest speed of a tagger, per step"`
	RunnerSpeed        float64 `default:"0.5" range:"(0,)" doc:"largest speed of a runner, per step"`
	Acceleration       float64 `default:"0.1" range:"(0,)" doc:"largest change of acceleration by a move, either way"`
	AccelerationLevels int     `default:"20" unit:"levels" range:"[2,)" doc:"changes of acceleration to choose from, beside none"`
	Turn               float64 `default:"135" unit:"degrees" range:"(0,)" doc:"largest turn by a move, either way"`
	TurnLevels         int     `default:"20" unit:"levels" range:"[2,)" doc:"turns to choose from, beside none"`

	RunnerPolicy string `default:"learned" oneof:"learned random still" doc:"behaviour of runners: learned, random moves, or none. Unless they learn, taggers are the only kind of agent"`
	Neighbours   int    `default:"10" unit:"agents" range:"[0,)" doc:"nearest agents of the other kind that an agent sees; 0 is all of them, in a fixed order"`
	Mates        int    `default:"0" unit:"agents" range:"[0,)" doc:"nearest agents of its own kind that an agent sees"`

	TagReward   float64 `default:"10" range:"[0,)" doc:"reward of a tagger for a tag"`
	TagPenalty  float64 `default:"1" range:"[0,)" doc:"penalty of a runner that is tagged"`
	EndReward   float64 `default:"1" range:"[0,)" doc:"reward of a runner that is in play at the end of the game"`
	StepPenalty float64 `default:"0" range:"[0,)" doc:"penalty of a tagger at every step"`
	StepReward  float64 `default:"0" range:"[0,)" doc:"reward of a runner for every step in play"`
	EdgePenalty float64 `default:"0" range:"[0,)" doc:"penalty of an agent that hits a wall"`
}

// defaults returns the default settings of the tags.
func defaults() any {
	return &Options{
		Taggers: 5, Runners: 100, Size: 20, Length: 500, Reach: .02, Leave: true,
		TaggerSpeed: 1, RunnerSpeed: .5, Acceleration: .1, AccelerationLevels: 20, Turn: 135, TurnLevels: 20,
		RunnerPolicy: learned, Neighbours: 10, TagReward: 10, TagPenalty: 1, EndReward: 1,
	}
}

// What runners do.
const (
	learned = "learned"
	random  = "random"
	still   = "still"
)

// Check finds options that make no environment, all at once.
func (o Options) Check() error {
	var errs []error
	for _, x := range []struct {
		name     string
		x, least int
	}{
		{"taggers", o.Taggers, 1}, {"runners", o.Runners, 1}, {"length", o.Length, 1},
		{"acceleration_levels", o.AccelerationLevels, 2}, {"turn_levels", o.TurnLevels, 2},
		{"neighbours", o.Neighbours, 0}, {"mates", o.Mates, 0},
	} {
		if x.x < x.least {
			errs = append(errs, fmt.Errorf("option %s is %d, at least %d is needed", x.name, x.x, x.least))
		}
	}
	if most := 1 << mostBits; max(o.Taggers, o.Runners) > most {
		errs = append(errs, fmt.Errorf("%d agents of a kind are over the limit of %d", max(o.Taggers, o.Runners), most))
	}
	for _, x := range []struct {
		name string
		x    float64
	}{
		{"size", o.Size}, {"reach", o.Reach}, {"tagger_speed", o.TaggerSpeed}, {"runner_speed", o.RunnerSpeed},
		{"acceleration", o.Acceleration}, {"turn", o.Turn},
	} {
		if !(x.x > 0) {
			errs = append(errs, fmt.Errorf("option %s is %v, want more than 0", x.name, x.x))
		}
	}
	if p := o.RunnerPolicy; p != learned && p != random && p != still {
		errs = append(errs, fmt.Errorf("option runner_policy is %q, want %s, %s or %s", p, learned, random, still))
	}
	return errors.Join(errs...)
}

// Tag is Tag-v0: agents of kind "tagger" chase those of kind "runner".
var Tag = env.Entry{
	ID: id, Doc: "taggers chase runners on a plane, WarpDrive's continuous tag; two kinds of agents, as many as one likes", Kind: env.Teams,
	Options: defaults,
	NewGroups: func(s *rl.Scope, n int, options any) (env.Groups, error) {
		o, ok := options.(*Options)
		if !ok || o == nil {
			return nil, fmt.Errorf("options are %T, want %T as its entry's Options makes", options, o)
		}
		if err := o.Check(); err != nil {
			return nil, err
		}
		return env.GraphGroups(s, n, game{*o})
	},
}

const id = "Tag-v0"
