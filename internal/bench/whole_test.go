package bench

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestCheckpoint: contenders take turns with runs of the length of a turn, and the
// summary has what checkpoints cost.
func TestCheckpoint(t *testing.T) {
	var ran []string
	o := Options{Quick: true, Count: 2, Whole: func(_ context.Context, args []string) (WholeRun, error) {
		ran = append(ran, strings.Join(args, " "))
		switch {
		case slices.Contains(args, "dqn"):
			return WholeRun{}, errors.New("it has no table")
		case slices.Contains(args, "1s"):
			return WholeRun{Steps: 100, Seconds: 1.1, CPU: 3}, nil
		}
		return WholeRun{Steps: 100, Seconds: 1, CPU: 2}, nil
	}}
	var out bytes.Buffer
	if err := Run(t.Context(), Checkpoint, o, Table(&out)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"15 s +0.0 %, CPU +0.0 %; 1 s +10.0 %, CPU +50.0 %", "it has no table", "1.10x  CPU 30.0 ms"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if want := "ppo --eval-episodes 0 --checkpoint-every 24h --steps 200"; ran[3] != want || len(ran) != 2*3*3+3 {
		t.Errorf("%d runs, %q, want %q", len(ran), ran[3], want)
	}
}

func TestWholeNothing(t *testing.T) {
	w := whole{run: func(context.Context, []string) (WholeRun, error) { return WholeRun{}, nil }}
	if _, err := w.train(t.Context(), 1); err == nil {
		t.Error("nothing was measured, and that was a result")
	}
	if _, err := w.Prepare(t.Context(), Case{Spec: Recipe{}}); !errors.Is(err, errNoPart) {
		t.Errorf("it takes part in what it is not meant for: %v", err)
	}
}
