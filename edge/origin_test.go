package edge_test

import (
	"testing"

	"github.com/weft-rl/weft/edge"
)

// TestOrigin: a place in generated code is known by the comments there.
func TestOrigin(t *testing.T) {
	s := edge.Set{Text: []byte("package x\n\nobs := t.Env.Obs() // my-loop.go:7\n// my-loop.go:8\nlong(\n)\n")}
	for pos, want := range map[string]string{
		"gen_lowered.go:3": "my-loop.go:7", "gen_lowered.go:5": "my-loop.go:8", "gen_lowered.go:1": "gen_lowered.go:1",
		"gen_lowered.go:99": "gen_lowered.go:99", "other.go:3": "other.go:3", "": "",
	} {
		if got := s.Origin(pos); got != want {
			t.Errorf("%q comes from %q, want %q", pos, got, want)
		}
	}
}
