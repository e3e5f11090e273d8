package stack

import "testing"

// An author's loop may stand in package main; the vocabulary's frames, generic
// ones too, are never the author's.
func TestVocabulary(t *testing.T) {
	for function, want := range map[string]bool{
		"github.com/weft-rl/weft/rl.(*Func[...]).Call":         true,
		"github.com/weft-rl/weft/replay.Take[...]":             true,
		"github.com/weft-rl/weft/env/classic.(*x).Step":        true,
		"github.com/gomlx/gomlx/core/graph.Add":                true,
		"runtime.gopanic":                                      true,
		"github.com/weft-rl/weft/algo/ppo.(*Trainer).Collect":  false,
		"github.com/somebody/else/rl.(*Trainer).Train":         false,
		"github.com/weft-rl/weft/rl_test.TestFailureHasAPlace": false,
		"main.(*Trainer).Train":                                false,
	} {
		if got := hasPrefix(function, vocabulary); got != want {
			t.Errorf("%s in the vocabulary: %v", function, got)
		}
	}
}
