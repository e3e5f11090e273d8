// Package adversary writes training loops that try to make the compiler wrong, and
// runs each as plain Go and under every policy that takes it. A loop is accepted
// and gives the plain loop's bits, or it is refused; anything else is a failure.
//
// A loop is an ordinary one of some style (grow_test.go, frame_test.go) with a few
// features. Every feature belongs to a class of mistakes (feature_test.go), so that
// a failure says which class is open.
package adversary

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

var (
	howMany   = flag.Int("loops", 40, "loops that TestAdversary writes")
	seed      = flag.Uint64("seed", 1, "seed of the loops: loop number i of seed s is s*1,000,000+i")
	only      = flag.Uint64("loop", 0, "the one loop to write, by its number")
	with      = flag.String("with", "", "features of all loops in place of their own, separated by semicolons")
	of        = flag.Int("class", 0, "class that every loop has a feature of, in place of any")
	show      = flag.Bool("show", false, "print the source of every loop that fails")
	every     = flag.Bool("every", false, "run every policy with 2, 3 and 5 workers; without it, with one of these")
	processes = flag.Int("processes", 2, "processes that run loops at a time")
	races     = flag.Bool("races", false, "run loops with the race detector")
	allow     = flag.Bool("allow", false, "report failures without failing the test")
)

// patience is the time in seconds that a run may take that normally takes
// milliseconds.
const patience = 20

// perBuild is the number of loops in one command.
const perBuild = 250

// TestAdversary: every loop is right under every policy, or refused.
func TestAdversary(t *testing.T) {
	var all tally
	first, n := *seed*1_000_000, *howMany
	if *only > 0 {
		first, n = *only, 1
	}
	var names []string
	if *with != "" {
		names = strings.Split(*with, ";")
	}
	for at := 0; at < n; at += perBuild {
		began := time.Now()
		f := frame(t)
		var list []specimen
		for i := at; i < min(n, at+perBuild); i++ {
			if n := first + uint64(i); fit(n, names) {
				list = append(list, compiled(t, f, n, names))
			}
		}
		t.Logf("%d loops compiled in %v", len(list), time.Since(began).Round(time.Millisecond))
		for _, r := range examined(t, list) {
			all.add(r)
			report(t, f, r)
		}
	}
	t.Logf("\n%s", all.table())
}

// report says what is wrong with a loop, and how to see it again.
func report(t *testing.T, f *analyze.Frame, r result) {
	if why := r.broken(); why != "" {
		t.Errorf("loop %d (%s): the plain loop fails: %s\n%s", r.number, r.labels(), why, r.source)
		return
	}
	wrong := r.wrong()
	if wrong.text == "" {
		return
	}
	text := fmt.Sprintf("loop %d (%s): %s\nAgain: go test ./internal/compile/adversary -run TestAdversary -show -loop %d", r.number, r.labels(), wrong.text, r.number)
	if *only > 0 && len(r.features) > 1 {
		r = smaller(t, f, r)
		text += fmt.Sprintf("\nWith -with %q alone: %s", r.labels(), r.wrong().text)
	}
	if *show {
		text += "\n" + string(r.source)
	}
	if *allow {
		t.Log(text)
		return
	}
	t.Error(text)
}

// smaller returns the loop with as few of its features as still make it fail.
func smaller(t *testing.T, f *analyze.Frame, r result) result {
	for len(r.features) > 1 {
		var list []specimen
		for i := range r.features {
			var names []string
			for j, x := range r.features {
				if j != i {
					names = append(names, x.name)
				}
			}
			s := compiled(t, f, r.number, names)
			s.program.name += fmt.Sprint("v", i)
			list = append(list, s)
		}
		tried := examined(t, list)
		i := slices.IndexFunc(tried, func(x result) bool { return x.wrong().text != "" && x.wrong().twice == r.wrong().twice })
		if i < 0 {
			break
		}
		r = tried[i]
	}
	return r
}
