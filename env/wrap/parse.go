package wrap

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is a wrapper as it is named in a configuration.
type kind struct {
	name  string
	value string // description of its value; empty if it has none
	none  string // the value it has if none is given; empty: one must be
	doc   string
	make  func(value string) (Wrapper, error)
}

var kinds = []kind{
	{"time-limit", "steps", "", "truncate episodes after so many steps", whole(TimeLimit)},
	{"frame-stack", "frames", "", "show the last observations at once", whole(FrameStack)},
	{"normalize-obs", "bound", "10", "observations of mean 0 and variance 1, within a bound", number(NormalizeObs)},
	{"normalize-reward", "discount", "0.99", "rewards by the deviation of discounted returns", number(NormalizeReward)},
	{"rescale-action", "", "", "act between -1 and 1, whatever the bounds", nothing(RescaleAction)},
	{"clip-action", "", "", "act without bounds, and be moved to the nearest", nothing(ClipAction)},
	{"record", "file", "episodes.jsonl", "write episodes into a file of the run's folder", text(Record)},
	{"video", "file", "episode.gif", "draw an episode into a GIF file of the run's folder", film},
}

func whole(f func(int) Wrapper) func(string) (Wrapper, error) {
	return func(value string) (Wrapper, error) {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return Wrapper{}, fmt.Errorf("%q is not a whole number above 0", value)
		}
		return f(n), nil
	}
}

func number(f func(float64) Wrapper) func(string) (Wrapper, error) {
	return func(value string) (Wrapper, error) {
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return Wrapper{}, fmt.Errorf("%q is not a number", value)
		}
		return f(x), nil
	}
}

func nothing(f func() Wrapper) func(string) (Wrapper, error) {
	return func(string) (Wrapper, error) { return f(), nil }
}

func text(f func(string) Wrapper) func(string) (Wrapper, error) {
	return func(value string) (Wrapper, error) { return f(value), nil }
}

func film(value string) (Wrapper, error) { return Video(value), CheckVideo(value) }

// Parse reads a list such as "time-limit=200,frame-stack=4". All that is wrong is
// reported at once.
func Parse(list string) (List, error) {
	var out List
	var errs []error
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		w, err := parse(part)
		if err != nil {
			errs = append(errs, fmt.Errorf("wrapper %s: %w", part, err))
			continue
		}
		out = append(out, w)
	}
	return out, errors.Join(errs...)
}

func parse(part string) (Wrapper, error) {
	name, value, given := strings.Cut(part, "=")
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return Wrapper{}, fmt.Errorf("unknown wrapper: choose from %s", strings.Join(Names(), ", "))
	}
	switch k := kinds[i]; {
	case given && k.value == "":
		return Wrapper{}, errors.New("it takes no value")
	case given:
		return k.make(value)
	case k.value != "" && k.none == "":
		return Wrapper{}, fmt.Errorf("the number of %s is missing, as in %s=4", k.value, name)
	default:
		return k.make(k.none)
	}
}

// Names returns the names that Parse knows.
func Names() (out []string) {
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}

// Kind is a wrapper as a configuration names it.
type Kind struct{ Name, Usage, Doc string }

// Kinds returns the wrappers that Parse knows.
func Kinds() (out []Kind) {
	for _, k := range kinds {
		usage := k.name
		switch {
		case k.none != "":
			usage += "[=" + k.none + "]"
		case k.value != "":
			usage += "=" + strings.ToUpper(k.value)
		}
		out = append(out, Kind{k.name, usage, k.doc})
	}
	return out
}
