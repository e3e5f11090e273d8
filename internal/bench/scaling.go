package bench

import (
	"fmt"
	"strings"
)

// onThreads returns the path of contenders that run on a given number of threads.
func onThreads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// scaling returns the speedup of contenders from one thread to two; empty if none runs on a given
// number of threads.
func scaling(results []Result) string {
	var out []string
	for _, one := range results {
		for _, two := range results {
			if one.Name == two.Name && one.Path == onThreads(1) && two.Path == onThreads(2) && !failed(one) && !failed(two) {
				out = append(out, fmt.Sprintf("%s %sx", one.Name, digits(one.Median()/two.Median())))
			}
		}
	}
	return strings.Join(out, ", ")
}
