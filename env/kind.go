package env

import "github.com/weft-rl/weft/rl"

// Kind says what sort of task an environment is, as far as it decides which settings suit it.
type Kind string

// The kinds. An entry that does not know has none.
const (
	Control    Kind = "control"    // numbers are seen, one of some actions is taken
	Continuous Kind = "continuous" // numbers are seen, actions are numbers
	Images     Kind = "images"     // pictures are seen
	Teams      Kind = "teams"      // several agents act
)

// KindOf returns the kind of what a spec describes.
func KindOf(s Spec) Kind {
	switch {
	case s.agents() > 1:
		return Teams
	case rl.IsImage(s.Obs):
		return Images
	}
	for _, l := range s.Action.Leaves() {
		if _, box := l.Space.(rl.Box); box {
			return Continuous
		}
	}
	return Control
}
