package replay_test

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/gobackend"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// A rollout turns steps of all environments into one batch, from which a learner
// takes minibatches.
func Example() {
	type step struct{ Reward rl.Tensor }
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	s := rl.NewScope(rl.NewDevice(backend), 1)
	rollout := replay.NewRollout[step](s, "rollout")
	for t := range 3 {
		rollout.Insert(step{rl.FromFlat(s, []float32{float32(t), float32(10 + t)}, 2)})
	}
	batch := rollout.Drain()
	fmt.Println(batch.Reward.Shape(), rl.Read[float32](batch.Reward))

	var all []float32
	for m := range 2 {
		mini := replay.Take(batch, s.Key("shuffle"), replay.ByStep, m, 2)
		fmt.Println(mini.Reward.Shape())
		all = append(all, rl.Read[float32](mini.Reward)...)
	}
	slices.Sort(all)
	fmt.Println(all)
	// Output:
	// (Float32)[2, 3] [0 1 2 10 11 12]
	// (Float32)[3]
	// (Float32)[3]
	// [0 1 2 10 11 12]
}

// A table keeps the last steps and lends out samples of them, here as returns of
// two steps.
func ExampleTable() {
	type transition struct {
		State    rl.Tensor
		Reward   rl.Tensor `replay:"sum"`
		Next     rl.Tensor `replay:"last"`
		Terminal rl.Tensor `replay:"last"`
	}
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	s := rl.NewScope(rl.NewDevice(backend), 1)
	table := replay.NewTable[transition](s, "table", 100, replay.Options{NStep: 2, Discount: .5})
	number := func(x int) rl.Tensor { return rl.FromFlat(s, []float32{float32(x)}, 1) }
	for t := range 3 { // one environment, whose episode ends with the third step
		end := rl.FromFlat(s, []bool{t == 2}, 1)
		table.Insert(transition{number(t), number(10), number(t + 1), end}, end)
	}
	sample := table.Sample(s.Key("sample"), 1)
	state, row := rl.Read[float32](sample.Data.State)[0], rl.Read[int64](sample.Index)[0]
	fmt.Println(table.Ready(2), table.Ready(3), state == float32(row))
	fmt.Println(rl.Read[float32](sample.Data.Reward), rl.Read[float32](sample.Discount))
	// Output:
	// true false true
	// [15] [0.25]
}

// Sequences cut what happened into overlapping stretches that begin with the memory the
// network had there. Here they have four steps and begin every two, and the first of
// the four only warms the memory up.
func ExampleSequences() {
	type moment struct {
		X      rl.Tensor
		Memory rl.Tensor `replay:"start"`
	}
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	s := rl.NewScope(rl.NewDevice(backend), 1)
	table := replay.NewSequences[moment](s, "table", 100, replay.SequenceOptions{Length: 4, Stride: 2, BurnIn: 1})
	number := func(x int) rl.Tensor { return rl.FromFlat(s, []float32{float32(x)}, 1) }
	for t := range 5 { // one environment, whose episode ends with the fifth step
		table.Insert(moment{number(10 + t), number(100 + t)}, rl.FromFlat(s, []bool{t == 4}, 1))
	}
	fmt.Println(table.Ready(2), table.Ready(3))
	sample := table.Sample(s.Key("sample"), 8)
	at := slices.Index(rl.Read[int64](sample.Index), 2) // the sequence that begins with row 2
	fmt.Println(sample.Data.X.Shape(), sample.Data.Memory.Shape())
	fmt.Println(rl.Read[float32](sample.Data.Memory)[at], rl.Read[float32](sample.Data.X)[4*at:4*at+3])
	fmt.Println(rl.Read[bool](sample.Valid)[4*at : 4*at+4])
	fmt.Println(rl.Read[bool](sample.Learn)[4*at : 4*at+4])
	// Output:
	// true false
	// (Float32)[8, 4] (Float32)[8]
	// 102 [12 13 14]
	// [true true true false]
	// [false true true false]
}

// A reservoir keeps some rows of a whole run, of which each had the same chance. Here
// one environment in three is not to be remembered.
func ExampleReservoir() {
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	s := rl.NewScope(rl.NewDevice(backend), 1)
	reservoir := replay.NewReservoir[rl.Tensor](s, "reservoir", 4)
	keep := rl.FromFlat(s, []bool{true, true, false}, 3)
	for t := range int32(100) {
		reservoir.Insert(rl.FromFlat(s, []int32{t, 100 + t, -1}, 3), keep)
	}
	sample := reservoir.Sample(s.Key("sample"), 1000)
	fmt.Println(reservoir.Ready(4), reservoir.Ready(5), rl.Read[float32](sample.Prob)[0])
	fmt.Println(slices.Contains(rl.Read[int32](sample.Data), -1))
	// Output:
	// true false 0.25
	// false
}
