package checkpoint

import (
	"path/filepath"
	"testing"
)

const benchBytes = 100 << 20

// network returns 100 MB in a few large arrays and many small ones, as a network and its optimiser
// are.
func network() File {
	var f File
	for i := range 10 {
		f.Arrays = append(f.Arrays, Array{stepName(int64(i)), "F32", []int{benchBytes / 40}, ramp(benchBytes / 10), nil})
	}
	for i := range 1000 {
		f.Arrays = append(f.Arrays, Array{"scalar" + stepName(int64(i)), "I64", nil, ramp(8), nil})
	}
	return f
}

func bench(b *testing.B, f func(path string) error) {
	path := filepath.Join(b.TempDir(), "x.safetensors")
	if err := Write(path, network()); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(benchBytes)
	b.ReportAllocs()
	for b.Loop() {
		if err := f(path); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	f := network()
	bench(b, func(path string) error { return Write(path, f) })
}

func BenchmarkRead(b *testing.B) {
	bench(b, func(path string) error {
		_, err := Read(path)
		return err
	})
}

func BenchmarkVerify(b *testing.B) {
	bench(b, func(path string) error {
		_, err := verify(path)
		return err
	})
}

// BenchmarkSeal measures what Write does before it touches the disk.
func BenchmarkSeal(b *testing.B) {
	f := network()
	bench(b, func(string) error {
		_, err := seal(f, nil)
		return err
	})
}

func BenchmarkStateSHA256(b *testing.B) {
	f := network()
	b.SetBytes(benchBytes)
	for b.Loop() {
		StateSHA256(f.Arrays)
	}
}
