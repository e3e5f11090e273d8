package replay_test

import (
	"fmt"
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// TestBrokenSequences: steps that are missing in between end sequences as the end of an
// episode does, in these environments alone, and once.
func TestBrokenSequences(t *testing.T) {
	for _, how := range []replay.SequenceOptions{
		{Length: 4, Stride: 2, BurnIn: 1}, {Length: 4, Stride: 1}, {Length: 5, Stride: 3, Priority: true}, {Length: 2, Stride: 2}, {Length: 1, Stride: 1},
	} {
		t.Run(fmt.Sprintf("%+v", how), func(t *testing.T) {
			h := newChronicle(t, 3, 40, how)
			h.table.Break([]rl.Span{{Lo: 0, Hi: 3, Of: 3}}) // of nothing
			for step := range 60 {
				h.add()
				if lost := rl.NewKey(8).IntN(step, 0, 6); lost < 3 {
					h.table.Break([]rl.Span{{Lo: lost, Hi: lost + 1, Of: 3}})
					h.table.Break([]rl.Span{{Lo: lost, Hi: lost + 1, Of: 3}})
					h.done[step][lost] = true
				}
				n := len(h.sequences())
				if !h.table.Ready(n) || h.table.Ready(n+1) {
					t.Fatalf("after %d steps not ready for %d sequences, or for more", step+1, n)
				}
				if n > 0 {
					h.check(t, h.table.Sample(h.s.Key("sample").Fold(uint64(step)), 16))
				}
			}
		})
	}
}

// TestBrokenRows: rows of several steps end where steps are missing, and what they lead
// to is the last step before these.
func TestBrokenRows(t *testing.T) {
	for _, priority := range []bool{false, true} {
		h := newHistory(t, 3, 20, replay.Options{NStep: 3, Discount: .5, Priority: priority})
		for step := range 40 {
			h.add()
			if lost := rl.NewKey(9).IntN(step, 0, 5); lost < 3 {
				h.table.Break([]rl.Span{{Lo: lost, Hi: lost + 1, Of: 3}})
				h.done[step][lost] = true
			}
			if h.table.Ready(1) {
				h.check(t, h.table.Sample(h.s.Key("sample").Fold(uint64(step)), 16), 3, .5)
			}
		}
	}
}
