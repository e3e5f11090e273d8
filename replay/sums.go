package replay

import (
	"math/bits"

	"github.com/weft-rl/weft/rl"
)

// sums is a binary tree of sums over priorities by slot, as one array: node i has
// the children 2i and 2i+1, and slot j is node size+j. A node is always the sum of
// its children, left first, so the whole is a function of the priorities alone,
// whatever order they came in: nothing drifts, and a checkpoint holds only them.
type sums struct {
	size int
	node []float64
}

func newSums(slots int) *sums {
	size := 1 << bits.Len(uint(slots-1))
	return &sums{size, make([]float64, 2*size)}
}

func (s *sums) total() float64 { return s.node[1] }

func (s *sums) of(slot int) float64 { return s.node[s.size+slot] }

// set gives a slot a priority.
func (s *sums) set(slot int, p float32) {
	i := s.size + slot
	s.node[i] = float64(p)
	for i >>= 1; i > 0; i >>= 1 {
		s.node[i] = s.node[2*i] + s.node[2*i+1]
	}
}

// find returns the slot in which x, from 0 to the total, lies when priorities are laid
// end to end. It never is one without a priority, whatever rounding did to x.
func (s *sums) find(x float64) int {
	i := 1
	for i < s.size {
		i *= 2
		if left := s.node[i]; x >= left && s.node[i+1] > 0 {
			x -= left
			i++
		}
	}
	return i - s.size
}

// draw returns the slot of draw i of n, and its probability. Each draw has one of n
// equal parts of the total.
func (s *sums) draw(k rl.Key, i, n int) (slot int, prob float32) {
	u := (float64(k.Bits(i, 0)[0]) + .5) / (1 << 32)
	slot = s.find(float64((float64(i) + u) / float64(n) * s.total())) // converted: never fused with what follows
	return slot, float32(s.of(slot) / s.total())
}

// leaves returns the priorities of the first n slots.
func (s *sums) leaves(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(s.of(i))
	}
	return out
}

// load sets the priorities.
func (s *sums) load(p []float32) {
	for i, x := range p {
		s.node[s.size+i] = float64(x)
	}
	for i := s.size - 1; i > 0; i-- {
		s.node[i] = s.node[2*i] + s.node[2*i+1]
	}
}
