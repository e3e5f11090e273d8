package philox

import "testing"

// The known answers that Random123 ships for philox4x32 with 10 rounds.
func TestKnownAnswers(t *testing.T) {
	const ones = 0xffffffff
	for _, x := range []struct {
		name string
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{"zeros", [4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{"ones", [4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{"pi", [4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := Block(x.ctr, x.key); got != x.want {
			t.Errorf("%s: %08x, want %08x", x.name, got, x.want)
		}
	}
}

func TestUnitExtremes(t *testing.T) {
	const ulp = 1.0 / (1 << 24)
	for x, want := range map[uint32]float32{
		0: ulp, 0x1ff: ulp, 0x200: 3 * ulp, 1 << 31: .5 + ulp, 0xffffffff: 1 - ulp,
	} {
		if got := Unit(x); got != want || got <= 0 || got >= 1 {
			t.Errorf("Unit(%x) = %v, want %v", x, got, want)
		}
	}
}
