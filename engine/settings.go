package engine

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Passes are the names of the compiler's optional passes, in the order in which they run. None
// changes a bit of any result; each can be turned off with off=NAME in the configuration.
var Passes = []string{"fold", "cse", "identities", "dce", "fuse", "epilogue", "tail", "sweep", "inplace"}

type settings struct {
	threads int
	off     map[string]bool
	check   bool
}

// plainSettings run nothing but what is needed.
var plainSettings = func() settings {
	s, _ := parseSettings("threads=1,off=all")
	return s
}()

func (s settings) on(pass string) bool { return !s.off[pass] }

func parseSettings(config string) (settings, error) {
	s := settings{threads: runtime.GOMAXPROCS(0), off: map[string]bool{}}
	var errs []error
	for _, part := range strings.Split(config, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "":
		case "threads":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				errs = append(errs, fmt.Errorf("threads=%s: want a positive number", value))
			}
			s.threads = n
		case "check":
			s.check = true
		case "off":
			if value != "all" && !slices.Contains(Passes, value) {
				errs = append(errs, fmt.Errorf("off=%s: want all or one of %s", value, strings.Join(Passes, ", ")))
			}
			s.off[value] = true
			for _, p := range Passes {
				s.off[p] = s.off[p] || value == "all"
			}
		default:
			errs = append(errs, fmt.Errorf("unknown setting %q: want threads, off or check", name))
		}
	}
	return s, errors.Join(errs...)
}
