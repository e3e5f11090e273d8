package gym_test

import (
	"fmt"

	"github.com/weft-rl/weft/env/gym"
)

// An entry is made without Python; its environments are not.
func ExampleEntry() {
	e, err := gym.Entry("FrozenLake-v1")
	if err != nil {
		fmt.Println(err)
		return
	}
	options := e.Options().(*gym.Options)
	options.Workers = 2
	if err := options.SetExtra("is_slippery", "false"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.ID, options.Workers, options.OnFailure)
	// Output: gym:FrozenLake-v1 2 stop
}

// Environments with several agents are groups: one element for each kind of agents.
func ExampleZoo() {
	e, err := gym.Zoo("mpe2.simple_tag_v3")
	if err != nil {
		fmt.Println(err)
		return
	}
	options := e.Options().(*gym.ZooOptions)
	if err := options.SetExtra("num_adversaries", "4"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.ID, options.Kinds, options.Mortal, e.NewGroups != nil)
	// Output: zoo:mpe2.simple_tag_v3 names auto true
}

func ExampleAtari() {
	e, err := gym.Atari("Breakout")
	if err != nil {
		fmt.Println(err)
		return
	}
	options := e.Options().(*gym.AtariOptions)
	fmt.Println(e.ID, options.FrameSkip, options.Size, options.Stack)
	// Output: atari:Breakout 4 84 4
}
