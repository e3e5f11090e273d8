package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// WholeFunc trains with Weft as a user would, in a process of its own or in many: the
// WholeFunc runs weft train with args, in a folder of its own. It measures how
// long the training took, without what comes before and after it, and what all
// processes computed for it.
type WholeFunc func(ctx context.Context, args []string) (WholeRun, error)

// WholeRun holds the measurements of a run.
type WholeRun struct {
	Steps   int64
	Seconds float64
	CPU     float64 // processor seconds of all processes, from start to end
}

// WholeSpec is a case of whole runs: the arguments that they share, and the contenders.
type WholeSpec struct {
	Args string
	Ways []Whole
}

// Whole is a contender's name and its further arguments.
type Whole struct {
	Name, Path, Args string
	apart            bool // its processes are an engine's: what they compute is not known
}

// whole is a contender of such a case. A turn is a run of about its length; the number of steps
// follows from the previous run. A call is the steps that are the case's work.
type whole struct {
	Whole
	run   WholeFunc
	args  []string
	work  float64 // steps of a call
	speed float64 // steps a second
}

func (w *whole) Label() Label { return Label{Name: w.Name, Path: w.Path} }

// calibration is the number of steps of the first run.
const calibration = 20_000

func (w *whole) Prepare(ctx context.Context, c Case) (Sample, error) {
	var spec WholeSpec
	switch s := c.Spec.(type) {
	case WholeSpec:
		spec = s
	case PolicySpec:
		spec = s.Whole
	case RaySpec:
		spec = s.Whole
	}
	if !slices.Contains(spec.Ways, w.Whole) {
		return Sample{}, errNoPart
	}
	w.args, w.work = strings.Fields(spec.Args+" "+w.Args), c.Work
	return w.train(ctx, calibration)
}

func (w *whole) Measure(ctx context.Context, d time.Duration) (Sample, error) {
	return w.train(ctx, max(1, int64(w.speed*d.Seconds())))
}

func (w *whole) train(ctx context.Context, steps int64) (Sample, error) {
	r, err := w.run(ctx, append(slices.Clone(w.args), "--steps", fmt.Sprint(steps)))
	if err == nil && (r.Steps < 1 || r.Seconds <= 0) {
		err = fmt.Errorf("%d steps in %v s were measured", r.Steps, r.Seconds)
	}
	if err != nil {
		return Sample{}, err
	}
	w.speed = float64(r.Steps) / r.Seconds
	if w.apart {
		r.CPU = 0
	}
	return Sample{Calls: max(1, int(float64(r.Steps)/max(1, w.work))), Seconds: r.Seconds, CPU: r.CPU}, nil
}

func (w *whole) Release() {}

// wholes returns the contenders that take part.
func wholes(o Options, ways ...Whole) (out []Contender) {
	for _, w := range ways {
		if o.wants(w.Name) {
			out = append(out, &whole{Whole: w, run: o.Whole})
		}
	}
	return out
}
