package kernel

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain lets a run, of benchmarks above all, be held to one level: go test -bench . -level 1.
func TestMain(m *testing.M) {
	level := flag.Int("level", int(Best()), "level to run benchmarks on: 0 go, 1 avx2, 2 avx512")
	flag.Parse()
	if err := Use(Level(*level)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}
