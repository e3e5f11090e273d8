package kernel

// Philox32 fills dst with the output words of Philox4x32-10: block b, four words, is the cipher of
// counter + b (a 128-bit sum, least significant word first) under key. Dst may begin anywhere in
// the stream by way of counter, so a caller can share a fill out in pieces of whole blocks; a last
// block that does not fit is cut short.
func Philox32(dst []uint32, counter [4]uint32, key [2]uint32) {
	if cur.lanes > 0 {
		dst, counter = philoxVector(dst, counter, key)
	}
	for len(dst) >= 4 {
		*(*[4]uint32)(dst) = philoxBlock(counter, key)
		dst = dst[4:]
		if counter = AddCounter(counter, 1); counter[0] == 0 && cur.lanes > 0 {
			dst, counter = philoxVector(dst, counter, key)
		}
	}
	last := philoxBlock(counter, key)
	copy(dst, last[:])
}

// philoxVector fills as much of dst as whole vectors of blocks cover without a carry out of the
// first counter word.
func philoxVector(dst []uint32, c [4]uint32, key [2]uint32) ([]uint32, [4]uint32) {
	blocks := min(len(dst)/4, int(^c[0])) / cur.lanes * cur.lanes
	if blocks == 0 {
		return dst, c
	}
	cur.philox(&dst[0], blocks, c[0], c[1], c[2], c[3], key[0], key[1])
	return dst[4*blocks:], AddCounter(c, uint64(blocks))
}

// AddCounter returns counter + blocks, for the start of a later piece of a stream.
func AddCounter(counter [4]uint32, blocks uint64) [4]uint32 {
	carry := blocks
	for i := range counter {
		s := uint64(counter[i]) + carry&0xffffffff
		counter[i] = uint32(s)
		carry = carry>>32 + s>>32
	}
	return counter
}

func philoxBlock(c [4]uint32, k [2]uint32) [4]uint32 {
	for range 10 {
		p0, p1 := uint64(c[0])*0xd2511f53, uint64(c[2])*0xcd9e8d57
		c = [4]uint32{uint32(p1>>32) ^ c[1] ^ k[0], uint32(p1), uint32(p0>>32) ^ c[3] ^ k[1], uint32(p0)}
		k[0] += 0x9e3779b9
		k[1] += 0xbb67ae85
	}
	return c
}
