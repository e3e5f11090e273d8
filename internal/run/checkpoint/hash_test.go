package checkpoint

import (
	"slices"
	"testing"
)

func hashed() []Array {
	return []Array{
		{"b", "U8", []int{2}, []byte{9, 8}, nil},
		{"a", "F32", []int{1, 2}, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, nil},
	}
}

// The expected values were computed by other means, from the definitions in the doc comments.
func TestHashes(t *testing.T) {
	arrays := hashed()
	for range 2 {
		if got, want := WeightsSHA256(arrays), "1dfce20ede98fd47e7ca60840387e728569d8df64ab7254ebc8f956b7cac48f8"; got != want {
			t.Errorf("weights %s, want %s", got, want)
		}
		if got, want := StateSHA256(arrays), "6d9f0a81f565c359f07a979a6e5697a72b0d1569e3f48e118dfd79ff1fa840d6"; got != want {
			t.Errorf("state %s, want %s", got, want)
		}
		slices.Reverse(arrays)
	}
	if arrays[0].Name != "b" {
		t.Error("the caller's arrays were reordered")
	}
}

func TestStateTellsApart(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func([]Array) []Array{
		"nothing":   func(a []Array) []Array { return a },
		"name":      func(a []Array) []Array { a[0].Name = "c"; return a },
		"dtype":     func(a []Array) []Array { a[0].DType = "I8"; return a },
		"shape":     func(a []Array) []Array { a[1].Shape = []int{2, 1}; return a },
		"rank":      func(a []Array) []Array { a[1].Shape = []int{2}; return a },
		"data":      func(a []Array) []Array { a[0].Data[0]++; return a },
		"boundary":  func(a []Array) []Array { a[0].Data, a[1].Data = a[0].Data[1:], append(a[1].Data, 9); return a },
		"one fewer": func(a []Array) []Array { return a[:1] },
		"none":      func(a []Array) []Array { return nil },
	} {
		sum := StateSHA256(change(hashed()))
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s give the same", name, other)
		}
		seen[sum] = name
	}
}
