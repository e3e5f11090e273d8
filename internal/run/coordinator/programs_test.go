package coordinator_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/program/programtest"
	"github.com/weft-rl/weft/internal/run/worker"
	"github.com/weft-rl/weft/plan"
)

// TestStage: a program is taken once, as a whole, if it is what it is said to be, and handed to
// workers. Nothing is left of any other, also if the coordinator is replaced.
func TestStage(t *testing.T) {
	c := newCluster(t)
	_, stop := c.coordinate("127.0.0.1:0")
	data, p := programtest.New(t, strings.Repeat("program", 1<<19)) // of several messages
	if err := c.client.Stage(t.Context(), p, programtest.Open(data)); err != nil {
		t.Fatal(err)
	}
	again := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }
	if err := c.client.Stage(t.Context(), p, again); err != nil {
		t.Errorf("a program that is there is sent again: %v", err)
	}
	stop()
	c.coordinate("127.0.0.1:0")
	var got []byte
	err := c.client.Program(t.Context(), p, func(r io.Reader) (err error) { got, err = io.ReadAll(r); return err })
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}

	old, _ := programtest.New(t, "an old version")
	_, fresh := programtest.New(t, "a new version.")
	script := []byte("#!/bin/sh\necho a script\n")
	large := fresh
	large.Size = 1 << 40
	for name, x := range map[string]struct {
		p    part.Program
		data []byte
		want string
	}{
		"replayed":  {fresh, old, "its hash is"},
		"truncated": {fresh, old[:30], "it ends after 30 of 34 bytes"},
		"large":     {large, old, "the limit is 512 (--max-program"},
		"script":    {programtest.Describe(script), script, "it is not a program"},
		"path":      {part.Program{Platform: "linux/amd64", SHA256: "../x", Size: 1}, old, "is not the SHA-256"},
	} {
		if err := c.client.Stage(t.Context(), x.p, programtest.Open(x.data)); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
	}
	if err := c.client.Program(t.Context(), fresh, func(r io.Reader) error { _, err := io.ReadAll(r); return err }); err == nil || !strings.Contains(err.Error(), "not kept here") {
		t.Errorf("a program that is not there: %v", err)
	}
	if err := c.client.SubmitWith(t.Context(), "r", "", []part.Program{fresh}); err == nil || !strings.Contains(err.Error(), "is not kept here") {
		t.Errorf("a run with a program that is not there: %v", err)
	}
	if err := c.client.SubmitWith(t.Context(), "r", "", []part.Program{p, p}); err == nil || !strings.Contains(err.Error(), "two programs for") {
		t.Errorf("a run with two programs: %v", err)
	}
	kept, err := os.ReadDir(filepath.Join(c.runs, ".programs"))
	if err != nil || len(kept) != 1 || kept[0].Name() != p.SHA256 {
		t.Errorf("it keeps %v, %v", kept, err)
	}
}

// TestBrought: a run that brings a program is planned with it and carried out with it, by workers
// that take programs.
func TestBrought(t *testing.T) {
	data, p := programtest.New(t, "brought")
	c := newCluster(t)
	with := make(chan string, 100)
	c.planner = func(ctx context.Context, program, config string, on plan.Cluster, shards int) (plan.Plan, error) {
		with <- filepath.Base(program)
		return planner(ctx, program, config, on, shards)
	}
	c.coordinate("127.0.0.1:0")
	assigned := make(chan part.Assignment, 100)
	takes := func(o *worker.Options) {
		own := o.Runner
		o.Guest = "guest of " + o.Name
		o.Runner = does(func(ctx context.Context, a part.Assignment, to part.Reporter) error {
			assigned <- a
			return own.Run(ctx, a, to)
		})
	}
	c.work("a", takes)
	c.work("b", takes)
	c.work("old")
	if err := c.client.Stage(t.Context(), p, programtest.Open(data)); err != nil {
		t.Fatal(err)
	}
	if err := c.client.SubmitWith(t.Context(), "r", fmt.Sprintf(configuration, 2, 20, ""), []part.Program{p}); err != nil {
		t.Fatal(err)
	}
	r := c.whole("r", 20)
	if r.Program != p.SHA256 || !strings.Contains(strings.Join(r.History, "\n"), "with its own program "+p.String()) {
		t.Errorf("%s, %q", r.Program, r.History)
	}
	if got := <-with; got != p.SHA256 {
		t.Errorf("it was planned with %q", got)
	}
	for range 2 {
		a := <-assigned
		if a.Program == nil || *a.Program != p || !strings.HasPrefix(a.Workers[0].Data, "guest of ") {
			t.Errorf("%+v", a)
		}
	}
}

type does func(context.Context, part.Assignment, part.Reporter) error

func (d does) Run(ctx context.Context, a part.Assignment, to part.Reporter) error {
	return d(ctx, a, to)
}
