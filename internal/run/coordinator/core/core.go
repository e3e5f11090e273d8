package core

import "slices"

// Settings are the bounds of a coordinator's patience, in ticks.
type Settings struct {
	Grace    int64 `json:"grace"`    // time for workers to come back to a new coordinator
	Return   int64 `json:"return"`   // time for a worker to come back whose connection broke
	Settle   int64 `json:"settle"`   // time after a failure to see whether a lost worker was its reason
	Start    int64 `json:"start"`    // time for all parts of an epoch to be ready
	Stall    int64 `json:"stall"`    // without a sign of progress
	Patience int64 `json:"patience"` // time for a run to wait for workers
	Vacancy  int64 `json:"vacancy"`  // time with a vacant part, while the other parts go on
	Halt     int64 `json:"halt"`     // time for a run that is to stop to come to a consistent point
	Lived    int64 `json:"lived"`    // time after which the failure of a part counts as a new one
	Retry    int64 `json:"retry"`    // between attempts to plan a run that waits for workers
	Avoid    int64 `json:"avoid"`    // time during which no run is planned on a bad connection or worker; longer each time it is bad again
	Doubt    int64 `json:"doubt"`    // the same, for a silent connection that no worker has tried to reopen
	Move     int64 `json:"move"`     // time for which a run that lost its workers waits for others of the same program
	Breaks   int   `json:"breaks"`   // breaks of a connection without a new checkpoint in between, before it is bad
	Restarts int   `json:"restarts"` // without a new checkpoint in between
	Keep     int   `json:"keep"`     // runs that are over and still known
}

// Defaults returns the settings for a tick of 250 ms.
func Defaults() Settings {
	return Settings{Grace: 8, Return: 8, Settle: 5, Start: 4 * 600, Stall: 4 * 3600, Patience: 4 * 600, Vacancy: 4 * 30, Halt: 4 * 60, Lived: 4 * 30, Retry: 4 * 10, Avoid: 4 * 600, Doubt: 4 * 60, Move: 4 * 30, Breaks: 3, Restarts: 20, Keep: 100}
}

// Core is the machine. It is not safe for use by several goroutines.
type Core struct {
	Settings
	State
	out   []Decision
	dirty []string // runs that are to be kept before anything else is done
}

// New returns a machine that knows of no run and no worker.
func New(s Settings) *Core { return &Core{Settings: s} }

// Step tells what happened and returns what to do, in order. Decisions refer to the
// state's memory: they are to be used, or copied, before the next step.
func (c *Core) Step(e Event) []Decision {
	c.out, c.dirty = nil, nil
	e.happen(c)
	c.evacuate()
	c.schedule()
	var keep []Decision
	for i := range c.Runs {
		if slices.Contains(c.dirty, c.Runs[i].Name) {
			keep = append(keep, Persist{c.Runs[i]})
		}
	}
	return append(keep, c.out...)
}

func (c *Core) decide(d Decision) { c.out = append(c.out, d) }

// changed has a run kept.
func (c *Core) changed(r *Run) {
	if !slices.Contains(c.dirty, r.Name) {
		c.dirty = append(c.dirty, r.Name)
	}
}

// tell adds a message for the user to the run's history.
func (c *Core) tell(r *Run, text string) {
	r.remember(text)
	c.changed(r)
	c.decide(Tell{r.Name, text})
}
