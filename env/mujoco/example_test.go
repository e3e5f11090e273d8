package mujoco_test

import (
	"fmt"

	"github.com/weft-rl/weft/env/mujoco"
)

// Options have Gymnasium's defaults; set what is to differ, and give them to
// env.Open with the entry.
func Example() {
	o := mujoco.Hopper.Options().(*mujoco.HopperOptions)
	o.HealthyZRange = []float64{0.5, 2}
	o.Threads = 2
	fmt.Println(mujoco.Hopper.ID, o.XMLFile, o.FrameSkip, o.HealthyReward, o.HealthyZRange)
	// Output: Hopper-v5 hopper.xml 4 1 [0.5 2]
}
