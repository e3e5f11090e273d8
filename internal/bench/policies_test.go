package bench

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestPolicies: every way takes part in the cases that name it, and the summary says
// who was fastest.
func TestPolicies(t *testing.T) {
	ran := map[string]int{}
	o := Options{Quick: true, Count: 1, Python: "no such interpreter", Policy: func(ctx context.Context, p PolicySpec, w Way, after func()) error {
		ran[w.Name+" "+w.Path]++
		for ctx.Err() == nil {
			after()
		}
		return ctx.Err()
	}, Whole: func(_ context.Context, args []string) (WholeRun, error) {
		ran[strings.Join(args[len(args)-4:len(args)-2], " ")]++
		return WholeRun{Steps: 100, Seconds: 1, CPU: 1}, nil
	}}
	b := Policies
	b.turn = turn{1, 1}
	var out bytes.Buffer
	if err := Run(t.Context(), b, o, Table(&out)); err != nil {
		t.Fatal(err)
	}
	for _, w := range allWays {
		if ran[w.Name+" "+w.Path] == 0 {
			t.Errorf("%s %s has no part in anything", w.Name, w.Path)
		}
	}
	if ran["--workers 2"] != 2 || ran["--processes 2"] != 2 {
		t.Errorf("whole runs: %v", ran)
	}
	for _, want := range []string{"absent: rllib", "The fastest", "environment of 50 us, layers of 256,256", "8 apart"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestWinner(t *testing.T) {
	got := winner([]Result{
		{Label: Label{Name: "a", Path: "x"}, Seconds: []float64{4, 2}},
		{Label: Label{Name: "b", Path: "y"}, Seconds: []float64{9, 1}},
		{Label: Label{Name: "c"}, Err: errNoPart},
	})
	if want := "b y (b y 2.00x)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
