package replay

import (
	"fmt"

	"github.com/weft-rl/weft/rl"
)

// Experience says how a loop fills a table and learns from it, as settings for an algorithm to
// embed.
type Experience struct {
	Envs           int   `default:"1" unit:"environments" range:"[1,)" doc:"environments stepped together"`
	TrainEvery     int   `default:"1" unit:"steps" range:"[1,)" doc:"steps that every environment takes between updates"`
	Updates        int   `default:"1" unit:"updates" range:"[1,)" doc:"updates of an iteration"`
	Batch          int   `default:"256" unit:"rows" range:"[1,)" doc:"rows of an update"`
	Buffer         int   `default:"1000000" unit:"rows" range:"[1,)" doc:"rows that are kept"`
	LearningStarts int64 `default:"10000" unit:"steps" range:"[1,)" doc:"steps taken, at random, before the first update"`

	Gamma float64 `default:"0.99" range:"[0,1]" doc:"discount of a reward one step later"`
	NStep int     `default:"1" unit:"steps" range:"[1,)" doc:"steps of a row: rewards that are added up before a value is asked for"`
}

// Validate finds settings that do not go together.
func (e *Experience) Validate() error {
	if rows := e.NStep * e.Envs; e.Buffer < rows || e.LearningStarts < int64(rows) {
		return fmt.Errorf("n_step: a row of %d steps in each of %d environments needs a buffer and learning_starts of at least %d", e.NStep, e.Envs, rows)
	}
	return nil
}

// Options returns the options of the table.
func (e Experience) Options() Options {
	ratio := float64(e.Updates*e.Batch) / float64(e.TrainEvery*e.Envs)
	return Options{NStep: e.NStep, Discount: e.Gamma, Ratio: ratio}
}

// Random returns 1 until learning starts, while actions are taken at random, and 0 from then on. It
// is for a graph function that takes either action: a branch of the loop would be decided by steps
// that asynchronous replicas count apart.
//
//weft:pure
func (e Experience) Random(steps int64) float64 {
	if steps < e.LearningStarts {
		return 1
	}
	return 0
}

// Transition is one step of every environment. Next is the state it led to, before any reset.
type Transition struct {
	Obs        rl.Obs
	Action     rl.Tree
	Reward     rl.Tensor `replay:"sum"`
	Next       rl.Obs    `replay:"last"`
	Terminated rl.Tensor `replay:"last"`
}
