package progress_test

import (
	"os"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/metrics/progress"
)

// Where the output is no terminal, a run leaves plain lines.
func Example() {
	clock := time.Unix(0, 0)
	p := progress.New(os.Stdout, progress.Options{Total: 10_000, Now: func() time.Time { return clock }})
	for step := int64(2500); step <= 10_000; step += 2500 {
		clock = clock.Add(time.Second)
		p.Update(progress.Snapshot{
			Steps:    step,
			Episodes: step / 20,
			Return:   float64(step) / 50,
			Losses:   []metrics.Value{{Name: "loss/policy", X: -0.0123}},
		})
	}
	p.Note("weights saved")
	p.Finish()
	// Output:
	//  25%   2.5k/10k   2.5k/s    1.0s    3.0s left  return 50.00    episodes 125    policy -0.0123
	//  50%     5k/10k   2.5k/s    2.0s    2.0s left  return 100.0    episodes 250    policy -0.0123
	//  75%   7.5k/10k   2.5k/s    3.0s    1.0s left  return 150.0    episodes 375    policy -0.0123
	// weights saved
	// done  10k steps in 4.0s  2.5k/s  return 200.0  episodes 500  policy -0.0123
}
