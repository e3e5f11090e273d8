package runner

import (
	"context"
	"reflect"
	"testing"
	"time"
)

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// Checkpoints are written by steps, by time, or at the end alone, and the newest
// few are kept.
func TestCheckpointPace(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*Job)
		want []string
	}{
		{"end", func(*Job) {}, []string{"step-000000000512.safetensors"}},
		{"steps", func(j *Job) { j.CheckpointSteps = 200 }, []string{
			"step-000000000256.safetensors", "step-000000000448.safetensors", "step-000000000512.safetensors",
		}},
		{"time", func(j *Job) { j.CheckpointEvery, j.Now = time.Minute, ticking(20*time.Second) }, []string{
			"step-000000000384.safetensors", "step-000000000448.safetensors", "step-000000000512.safetensors",
		}},
		{"keep", func(j *Job) { j.CheckpointSteps, j.Keep = 1, 1 }, []string{"step-000000000512.safetensors"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := identity(t)
			c.set(&j)
			train(t, j)
			if got := files(t, j); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// ticking returns a clock that moves with every look at it.
func ticking(by time.Duration) func() time.Time {
	now := time.Unix(0, 0)
	return func() time.Time {
		now = now.Add(by)
		return now
	}
}
