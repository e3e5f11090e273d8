// Package app is the library: what a Go program needs to train, resume, evaluate
// and load. Package cli has the command line.
package app

import "github.com/weft-rl/weft/cli"

// The types of the library.
type (
	Set         = cli.Set
	Job         = cli.Job
	Progress    = cli.Progress
	Result      = cli.Result
	Resumption  = cli.Resumption
	Weights     = cli.Weights
	Trial       = cli.Trial
	Score       = cli.Score
	Loading     = cli.Loading
	Agent       = cli.Agent
	Observation = cli.Observation
)

// The choices of weights.
const (
	BestWeights   = cli.BestWeights
	NewestWeights = cli.NewestWeights
)

// The verbs of the library.
var (
	Train    = cli.Train
	Resume   = cli.Resume
	Evaluate = cli.Evaluate
	Load     = cli.Load
)
