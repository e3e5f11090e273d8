package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/run/part"
)

// TestRequeue: a job whose time is over is started again if it got to a checkpoint in it, and
// otherwise says that it would never get anywhere.
func TestRequeue(t *testing.T) {
	saved := func(step int64) part.Committed { return part.Committed{Last: &part.Manifest{Step: step, Object: "x"}} }
	for _, c := range []struct {
		before int64
		now    part.Committed
		want   string
	}{
		{0, part.Committed{}, "no other was saved since it began; allow more time"},
		{512, saved(512), "no other was saved since it began; allow more time"},
		{512, saved(1024), ""},
	} {
		dir := t.TempDir()
		if err := c.now.Write(dir); err != nil {
			t.Fatal(err)
		}
		again := 0
		a := &launch.Allocation{Job: "7", Requeue: func(context.Context) error {
			again++
			return nil
		}}
		err := (&command{out: io.Discard}).requeue(t.Context(), a, c.before, dir)
		if c.want == "" && (err != nil || again != 1) || c.want != "" && (err == nil || again != 0 || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, started again %d times, want %q", err, again, c.want)
		}
	}
}
