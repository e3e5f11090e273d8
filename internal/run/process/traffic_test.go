package process_test

import (
	"errors"
	"testing"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/plan"
)

// TestTraffic tells the coordinator what crosses between replicas, by the kind of edge, and how
// long checkpoints take.
func TestTraffic(t *testing.T) {
	const config = "every=64 steps=6400"
	x, d := newTeam(t, 2), parttest.NewDesk(2)
	var got []part.Progress
	d.Progressed = func(p part.Progress) { got = append(got, p) }
	a := part.Assignment{Run: "r", Epoch: 1, Config: config, Plan: planned(t, config, plan.Deployment{Policy: "single-learner-coarse", Workers: 2})}
	if err := errors.Join(x.run(t.Context(), a, d)...); err != nil {
		t.Fatal(err)
	}
	before := map[string]part.Traffic{}
	saved := false
	for _, p := range got {
		saved = saved || p.Saving > 0
		for i, e := range p.Edges {
			if e.Kind == "" || i > 0 && e.Kind <= p.Edges[i-1].Kind {
				t.Fatalf("%+v", p.Edges)
			}
			if was := before[e.Kind]; e.Messages < was.Messages || e.Bytes < was.Bytes {
				t.Fatalf("%+v after %+v", e, was)
			}
			before[e.Kind] = e
		}
	}
	if !saved {
		t.Error("no checkpoint took any time")
	}
	for _, kind := range []string{"gather", "broadcast"} {
		if e := before[kind]; e.Messages == 0 || e.Bytes == 0 {
			t.Errorf("%s: %+v of %+v", kind, e, before)
		}
	}
}
