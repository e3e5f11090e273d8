package cli

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/runner"
)

// memberSteps returns what trains members of a population as steps of this process's job, each in a
// slot of its own.
func (f *trainFlags) memberSteps() func(context.Context, *request.Request, string, request.Again) (runner.Result, error) {
	a, e := f.allocation, f.engine().(launch.Stepper)
	free := make(chan int, len(a.Slots))
	for i := range a.Slots {
		free <- i
	}
	return func(ctx context.Context, _ *request.Request, dir string, how request.Again) (runner.Result, error) {
		slot := <-free
		defer func() { free <- slot }()
		return trainMemberBy(ctx, e.Step(a, slot, filepath.Base(dir)), dir, how)
	}
}

// came returns a number that grows with how far the run of a folder, or its population, has come.
func came(out string) (n int64, err error) {
	if !holdsPopulation(out) {
		c, err := part.ReadCommitted(out)
		return max(0, c.Step()), err
	}
	members, err := filepath.Glob(filepath.Join(out, "member-*"))
	for _, dir := range members {
		t, e := part.ReadTraces(dir)
		n, err = n+int64(t.Lines), errors.Join(err, e)
	}
	return n, err
}

// followPopulation shows the generations of a job's population until the job is over.
func (c *command) followPopulation(ctx context.Context, r *request.Request, f *trainFlags, b job, out string) error {
	s := &populating{c: c, dir: out}
	s.view = populationView{c: c, s: s, json: f.json}
	w := c.watcher(r, out, f.json)
	w.Note(b.String())
	j := &jobFollower{job: b, engine: f.engine(), out: out, v: &viewer{w: w}, also: func() { s.look(r) }}
	p, err := j.follow(ctx)
	s.look(r)
	switch {
	case err == nil && p.Error != "":
		err = errors.New(p.Error)
	case errors.Is(err, errHungUp):
		return exitStatus(exitInterrupted)
	}
	if err != nil {
		w.fail(err)
		return exitStatus(exitFailed)
	}
	if !p.Over || s.study == nil || s.study.Best == nil {
		s.view.end("interrupted")
		return exitStatus(exitInterrupted)
	}
	s.view.end("done")
	return nil
}

// look tells what the record of a population has that was not told of yet.
func (s *populating) look(r *request.Request) {
	study, err := readPopulation(s.dir)
	if err != nil {
		return // it has not begun, or is just written
	}
	first := s.study == nil
	if s.study = study; first {
		s.view.begin(r)
	}
	s.view.changed(nil)
}
