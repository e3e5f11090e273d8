package rl

import (
	"testing"

	"github.com/gomlx/compute/gobackend"
)

// Numbers that a schedule changes are inputs: however many values they take,
// there is one program.
func TestScheduledNumbers(t *testing.T) {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	s := NewScope(NewDevice(b), 1)
	x := FromFlat(s, []float32{1, 2, 3, 4}, 2, 2)
	no := FromFlat(s, make([]bool, 4), 2, 2)
	seen := map[float32]bool{}
	for _, p := range []float64{.5, .6, .7} {
		adv, _ := GAE(p, p, x, x, x, no, no)
		target, _ := VTrace(p, p, p, p, x, x, x, x, no, no)
		for _, t := range []Tensor{adv, target, NStep(p, 2, x, x, no, no), Lambda(p, p, x, x, no, no), blend([]Tensor{x}, []Tensor{adv}, p)[0]} {
			seen[Read[float32](t)[0]] = true
		}
	}
	if len(seen) != 15 {
		t.Errorf("%d results of 3 values in 5 operations: a number was not used", len(seen))
	}
	for name, programs := range s.dev.ops {
		if len(programs) != 1 {
			t.Errorf("%s was compiled %d times", name, len(programs))
		}
	}
	if len(s.dev.ops) != 5 {
		t.Errorf("%d programs, want 5", len(s.dev.ops))
	}
}
