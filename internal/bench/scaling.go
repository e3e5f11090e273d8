package bench

import (
	"fmt"
	"strings"
)

// onThreads returns the path of contenders that are told how many threads to use.
func onThreads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// scaling returns how much faster than on one thread contenders are on two; empty if
// nobody was told how many to use.
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
