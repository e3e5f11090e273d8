package engine

import (
	"github.com/weft-rl/weft/engine/internal/kernel"
	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/ir"
)

// randomBits returns Philox4x32-10: the first word of the state is the key, the other two the
// counter, least significant first. The new state's counter is past the blocks used, so that
// streams never overlap.
func randomBits(l *lowering, n *ir.Node) (func(fr *frame), error) {
	in, next, out := l.at(n.Inputs[0]), l.at(n.Outputs[0]), l.at(n.Outputs[1])
	bytes := n.Outputs[1].Bytes()
	const block = 16
	blocks := (bytes + block - 1) / block
	work := func(fr *frame, lo, hi, _ int) {
		key, counter := philoxState(view[uint64](fr, in, 3))
		dst := view[byte](fr, out, bytes)[lo*block : min(hi*block, bytes)]
		loops.Philox(dst, kernel.AddCounter(counter, uint64(lo)), key)
	}
	return func(fr *frame) {
		fr.workers.run(fr, work, blocks, 1<<11)
		state := view[uint64](fr, in, 3)
		_, counter := philoxState(state)
		counter = kernel.AddCounter(counter, uint64(blocks))
		to := view[uint64](fr, next, 3)
		to[0] = state[0]
		to[1] = uint64(counter[0]) | uint64(counter[1])<<32
		to[2] = uint64(counter[2]) | uint64(counter[3])<<32
	}, nil
}

func philoxState(s []uint64) (key [2]uint32, counter [4]uint32) {
	return [2]uint32{uint32(s[0]), uint32(s[0] >> 32)},
		[4]uint32{uint32(s[1]), uint32(s[1] >> 32), uint32(s[2]), uint32(s[2] >> 32)}
}
