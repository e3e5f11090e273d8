package stat_test

import (
	"fmt"

	"github.com/weft-rl/weft/internal/stat"
)

func ExampleBootstrap_Interval() {
	returns := []float64{481, 500, 500, 12, 496, 500, 489, 500} // one seed failed
	lo, hi := stat.Usual.Interval(returns, stat.InterquartileMean)
	fmt.Printf("mean %.1f, interquartile mean %.1f [%.1f, %.1f]\n",
		stat.Mean(returns), stat.InterquartileMean(returns), lo, hi)
	// Output:
	// mean 434.8, interquartile mean 496.2 [369.5, 500.0]
}
