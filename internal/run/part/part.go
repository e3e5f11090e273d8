// Package part is the contract between the two halves of a cluster: what a
// coordinator asks of a worker process, and what the process that carries it out
// has to say. It is data, so that neither half knows the other.
package part

import (
	"context"

	"github.com/weft-rl/weft/plan"
)

// Assignment is a process's share of a run.
type Assignment struct {
	Run string `json:"run"`
	// Epoch grows whenever the run is started anew. What belongs to another epoch is
	// refused: a process that was thought dead can do no harm.
	Epoch int64 `json:"epoch"`
	// Life is how many processes had this part in this epoch before, and were lost: only
	// of plans that can spare them. What belongs to another life is refused as well.
	Life int64 `json:"life,omitempty"`
	// Config is the run's configuration: the text of the run folder's config.yaml.
	Config string `json:"config"`
	// Plan is the same in every process of the epoch.
	Plan plan.Plan `json:"plan"`
	// Workers are the processes by their number in the plan.
	Workers []Worker `json:"workers"`
	Me      int      `json:"me"` // this process's number
	// Secret is known to the processes of the epoch alone. They show it to each other.
	Secret string `json:"secret,omitempty"`
	// Program is the program to carry the part out with, which the run brought; nil is the worker's
	// own.
	Program *Program `json:"program,omitempty"`
	// From is the checkpoint to begin with; nil at the beginning of the run.
	From *Manifest `json:"from,omitempty"`
}

// Worker is a process that takes part.
type Worker struct {
	Name string `json:"name"`
	Data string `json:"data"` // address of its data plane
	Host string `json:"host"` // processes of one host may share more than a network
	// Holder is the holder of its certificate: no other holder may connect under its name.
	Holder string `json:"holder,omitempty"`
}

// Manifest lists the files of a checkpoint; committing it makes the checkpoint valid.
type Manifest struct {
	Epoch  int64  `json:"epoch"` // epoch that wrote it
	Step   int64  `json:"step"`
	Object string `json:"object"` // its name in the run's store
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Evaluated says that the step was evaluated before: the record of it ends with that.
	Evaluated bool `json:"evaluated,omitempty"`
	// Record is how many bytes of lines there are up to this checkpoint: in the epoch, as the
	// worker says it; in the whole record once it is committed. 0 is unknown then.
	Record int64 `json:"record,omitempty"`
	// Place is the address of the store that holds the run, as the writer of the checkpoint names
	// it.
	Place string `json:"place,omitempty"`
}

// Owner reports whether this process has the replica that decides: it keeps the
// run's checkpoints and tells how it gets on.
func (a Assignment) Owner() bool {
	for _, r := range a.Plan.Replicas {
		if r.Group == a.Plan.Owner {
			return r.Worker == a.Me
		}
	}
	return a.Me == 0 // the loop as it stands
}

// Runner carries assignments out. Run returns when the process's part is over; nil
// means that it was done to the end. When ctx is done it stops at once: an epoch
// that is given up leaves nothing but what was committed.
type Runner interface {
	Run(ctx context.Context, a Assignment, r Reporter) error
}

// Reporter is how a running part speaks with the coordinator. Its methods may be
// called by any goroutine.
type Reporter interface {
	// Ready tells that the part is built, and waits until all parts of the epoch are.
	Ready(ctx context.Context) error
	// Commit makes a checkpoint valid. It fails if the epoch was given up meanwhile.
	Commit(ctx context.Context, m Manifest) error
	// Progress tells where the run stands; only the newest matters. It never waits.
	Progress(p Progress)
	// Quiet reports the workers of the epoch that have been silent for a while, but not long enough
	// to count as lost. Only the newest report matters. Quiet does not block.
	Quiet(workers []string)
	// Record hands over lines of the run's record, whole ones of its metrics file, in order.
	Record(ctx context.Context, lines []byte) error
	// Halted is closed when the part that decides is to end the run at its next consistent
	// point, with a checkpoint of that.
	Halted() <-chan struct{}
	// Note tells what a user should know.
	Note(text string)
}

// Progress is where a run stands.
type Progress struct {
	Steps          int64   `json:"steps"`
	Iter           int64   `json:"iter"`
	Episodes       int64   `json:"episodes"`
	Return         float64 `json:"return"` // mean over the last episodes; 0 before the first
	StepsPerSecond float64 `json:"steps_per_second"`
	Staleness      float64 `json:"staleness"` // mean of what was used, in versions
	Slowest        string  `json:"slowest"`   // fragment that others wait for
	// Metrics are the iteration's logged values, cut to the limit of Bounded.
	Metrics []Metric `json:"metrics,omitempty"`
	// Edges counts the messages between replicas since the epoch began, by the kind of edge.
	Edges []Traffic `json:"edges,omitempty"`
	// Saving is how many seconds the newest checkpoint took to be written and committed; 0 before
	// the first.
	Saving float64 `json:"saving,omitempty"`
	// Evaluation is the newest, once there was one.
	Evaluation *Evaluation `json:"evaluation,omitempty"`
	// Result is how it ended, once it has.
	Result *Result `json:"result,omitempty"`
	// Halted is true when it ended where Halted asked for it, and goes on from its last
	// checkpoint.
	Halted bool `json:"halted,omitempty"`
}

// Traffic counts the messages on the edges of one kind.
type Traffic struct {
	Kind     string `json:"kind"`
	Messages int64  `json:"messages"`
	Bytes    int64  `json:"bytes"`   // bytes of tensors
	Waiting  int64  `json:"waiting"` // most messages that waited of one sender
}

// maxKinds and maxKind bound what is told of edges: as many kinds, with names of so many bytes.
const maxKinds, maxKind = 16, 32

// BoundedTraffic returns as much of what is told of edges as there is room for.
func BoundedTraffic(all []Traffic) []Traffic {
	if len(all) > maxKinds {
		all = all[:maxKinds]
	}
	for i := range all {
		all[i].Kind = all[i].Kind[:min(len(all[i].Kind), maxKind)]
	}
	return all
}

// Evaluation is how the policy did at some step, in episodes of its own.
type Evaluation struct {
	Steps      int64   `json:"steps"`
	Episodes   int     `json:"episodes"`
	Unfinished int     `json:"unfinished,omitempty"`
	Mean       float64 `json:"mean"`
	Std        float64 `json:"std"`
	Min        float64 `json:"min"`
	Max        float64 `json:"max"`
	Length     float64 `json:"length"`
}

// Result is how a run ended.
type Result struct {
	Steps         int64  `json:"steps"`
	WeightsSHA256 string `json:"weights_sha256"`
	StateSHA256   string `json:"state_sha256"`
}
