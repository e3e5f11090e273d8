package checkpoint_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft/internal/run/checkpoint"
)

func state(step byte) checkpoint.File {
	return checkpoint.File{
		Meta: map[string]string{"algorithm": "ppo"},
		Arrays: []checkpoint.Array{
			{Name: "weights", DType: "U8", Shape: []int{2, 2}, Data: []byte{step, 2, 3, 4}},
		},
	}
}

func Example() {
	run, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(run)

	release, err := checkpoint.Lock(run)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer release()

	dir, err := checkpoint.Open(filepath.Join(run, "checkpoints"), 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step := range 3 {
		if err := dir.Save(int64(step), state(byte(step))); err != nil {
			fmt.Println(err)
		}
	}
	// The machine goes down in the middle of something, and the newest file suffers.
	os.Truncate(filepath.Join(run, "checkpoints", "step-000000000002.safetensors"), 100)

	f, step, skipped, err := dir.Latest()
	fmt.Println(skipped)
	fmt.Println(step, f.Arrays[0].Data, err)
	// Output:
	// [checkpoint step-000000000002.safetensors: torn: 100 of at least 224 bytes]
	// 1 [1 2 3 4] <nil>
}

func ExampleDir_SaveBest() {
	run, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(run)
	dir, err := checkpoint.Open(run, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for step, score := range []float64{10, 30, 20} {
		if err := dir.SaveBest(score, int64(step), state(byte(step))); err != nil {
			fmt.Println(err)
		}
	}
	f, score, step, err := dir.Best()
	fmt.Println(step, score, f.Arrays[0].Data, err)
	// Output: 1 30 [1 2 3 4] <nil>
}

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "policy.safetensors")
	if err := checkpoint.Write(path, state(1)); err != nil {
		fmt.Println(err)
	}
	f, err := checkpoint.Read(path)
	fmt.Println(f.Meta, f.Arrays, err)
	// Output: map[algorithm:ppo] [{weights U8 [2 2] [1 2 3 4] <nil>}] <nil>
}

func ExampleWeightsSHA256() {
	fmt.Println(checkpoint.WeightsSHA256(state(1).Arrays))
	// Output: 9f64a747e1b97f131fabb6b447296c9b6f0201e79fb3c5356e6c77e89b6a806a
}
