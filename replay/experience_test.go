package replay_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/replay"
)

// TestExperience: a table too small for a row, and learning before there is one, are refused.
func TestExperience(t *testing.T) {
	for _, c := range []struct {
		buffer, starts int
		want           string
	}{{12, 12, ""}, {11, 12, "at least 12"}, {12, 11, "at least 12"}} {
		e := replay.Experience{Envs: 4, NStep: 3, Buffer: c.buffer, LearningStarts: int64(c.starts)}
		if err := e.Validate(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c, err, c.want)
		}
	}
}
