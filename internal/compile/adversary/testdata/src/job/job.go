// Package job describes the runs of a loop and what they leave, for the test that
// asks for them and the command that carries them out.
package job

// Config is the settings of every loop.
type Config struct {
	Envs, Horizon int
	Flag          bool
	Kind          int
}

// Job is one run of a loop: one leg, or several with a stop and a resume in between.
type Job struct {
	Loop     string
	Config   Config
	Env      string // a name in the runner's table
	Budget   int64  // environment steps
	Legs     []Leg
	Learners int    // plain loops that meet at gradients, in place of Legs; 0 is none
	Procs    int    // GOMAXPROCS
	Delay    uint64 // seed of random delays between replicas; 0 is none
	Patience int    // seconds after which the run counts as stuck
}

// Leg is a part of a run under one policy.
type Leg struct {
	Policy    string
	Workers   int
	Processes int // 2 puts every other worker into a second process
	NoFuse    bool
	Apart     bool  // the replay has a worker of its own
	Until     int64 // iterations after which the run stops; 0 is its end
}

// Outcome is what a run left.
type Outcome struct {
	Weights, State string // digests after the run
	Kept           string // digest of the whole state at the last cut
	Logs           []string
	Values         []float64 // of all parameters
	Moved          bool      // the weights are not those of the start
	Steps, Iter    int64
	Err            string
	Twice          string // a name that two values of an iteration's metrics have
	Unfit          bool   // the policy does not take the loop: Err says why
}
