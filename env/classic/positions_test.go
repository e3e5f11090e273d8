package classic

import (
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// TestPositions: with the same actions, CartPolePositions-v1 goes through the episodes of
// CartPole-v1, and shows the first and the third number of what that one shows.
func TestPositions(t *testing.T) {
	const n = 3
	open := func(e env.Entry) (*rl.Scope, env.Batch) {
		s := newScope(t, 7)
		b, err := env.Open(s, e, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s, b
	}
	_, all := open(CartPole)
	s, some := open(CartPolePositions)
	same := func(when string, full, part rl.Obs) {
		t.Helper()
		x, y := rl.Read[float32](full.X.Leaf("")), rl.Read[float32](part.X.Leaf(""))
		for i := range n {
			if y[2*i] != x[4*i] || y[2*i+1] != x[4*i+2] {
				t.Fatalf("%s: environment %d shows %v of %v", when, i, y[2*i:2*i+2], x[4*i:4*i+4])
			}
		}
	}
	same("at the start", all.Obs(), some.Obs())
	ended := 0
	for i := range 40 {
		act := rl.One(rl.FromFlat(s, []int32{int32(i % 2), 1, int32(i / 3 % 2)}, n))
		x, y := all.Step(act), some.Step(act)
		same("after a step", x.Obs, y.Obs)
		same("where it led", x.Final, y.Final)
		for j, over := range rl.Read[bool](x.Over) {
			if over != rl.Read[bool](y.Over)[j] {
				t.Fatalf("step %d: environment %d ends in one alone", i, j)
			} else if over {
				ended++
			}
		}
	}
	if ended == 0 {
		t.Error("no episode ended")
	}
}
