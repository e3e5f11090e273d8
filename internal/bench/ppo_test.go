package bench

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
)

// TestTraining: a run goes on by exactly one iteration at a time.
func TestTraining(t *testing.T) {
	defer goleak.VerifyNone(t)
	iterations := 0
	tr := begin(t.Context(), func(ctx context.Context, after func()) error {
		for ctx.Err() == nil {
			iterations++
			after()
		}
		return ctx.Err()
	})
	for want := 1; want <= 3; want++ {
		if err := tr.Run(); err != nil || iterations != want {
			t.Fatalf("%d iterations, want %d; %v", iterations, want, err)
		}
	}
	tr.Close()
	if iterations != 3 {
		t.Errorf("%d iterations after the end, want 3", iterations)
	}
}

func TestTrainingFails(t *testing.T) {
	defer goleak.VerifyNone(t)
	broken := errors.New("broken")
	for _, c := range []struct{ end, want error }{{broken, broken}, {nil, errEnded}} {
		tr := begin(t.Context(), func(_ context.Context, after func()) error {
			after()
			return c.end
		})
		if err := tr.Run(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := tr.Run(); !errors.Is(err, c.want) {
				t.Errorf("after the end: %v, want %v", err, c.want)
			}
		}
		tr.Close()
	}
}
