package sweep

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/internal/config"
)

// Dim is one setting that a sweep varies: a choice among values, or a range of numbers.
type Dim struct {
	Key     string   `json:"key"`
	Source  string   `json:"-"`                 // line of the file that says so
	Choices []string `json:"choices,omitempty"` // the values of a choice; empty of a range
	Lo      float64  `json:"from,omitempty"`
	Hi      float64  `json:"to,omitempty"`
	Log     bool     `json:"log,omitempty"`   // numbers are spread evenly by their logarithms
	Whole   bool     `json:"whole,omitempty"` // whole numbers alone
	Points  int      `json:"-"`               // values of the range in a grid
}

// dimFile is how a file describes a range.
type dimFile struct {
	From   float64  `default:"0" doc:"smallest value"`
	To     float64  `default:"0" doc:"largest value"`
	Scale  string   `default:"linear" oneof:"linear log" doc:"whether values are spread evenly, or their logarithms"`
	Points int      `default:"0" range:"[0,)" doc:"values of the range in a grid, the ends included"`
	OneOf  []string `key:"oneof" doc:"the values, instead of a range"`
}

// rangeKeys are the keys of dimFile. A setting of such a name is one only if the run has it.
var rangeKeys = []string{"from", "to", "scale", "points", "oneof"}

// parseDims reads the part of a file that describes the space. Kinds are those of all settings, by
// key.
func parseDims(all []config.Assignment, kinds map[string]string) (dims []Dim, err error) {
	parts := map[string][]config.Assignment{}
	var order []string
	for _, a := range all {
		key, part := a.Key, ""
		if _, known := kinds[key]; !known {
			if i := strings.LastIndexByte(key, '.'); i >= 0 && slices.Contains(rangeKeys, key[i+1:]) {
				key, part = key[:i], key[i+1:]
			}
		}
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
		parts[key] = append(parts[key], config.Assignment{Key: part, Value: a.Value, Source: a.Source, List: a.List})
	}
	var errs []error
	for _, key := range order {
		d, err := parseDim(key, parts[key], kinds)
		if err != nil {
			err = fmt.Errorf("%s: %s: %w", parts[key][0].Source, key, err)
		}
		dims, errs = append(dims, d), append(errs, err)
	}
	return dims, errors.Join(errs...)
}

// parseDim reads what a file says of one setting: a list of values, or a map.
func parseDim(key string, parts []config.Assignment, kinds map[string]string) (d Dim, err error) {
	d = Dim{Key: key, Source: parts[0].Source}
	kind, known := kinds[key]
	if !known {
		return d, unknown(key, kinds)
	}
	if len(parts) == 1 && parts[0].Key == "" {
		d.Choices, err = config.Items(parts[0].Value)
		if err == nil && len(d.Choices) == 0 {
			err = errors.New("has no values")
		}
		return d, err
	}
	var f dimFile
	if err := errors.Join(config.Defaults(&f), config.Set(&f, parts)); err != nil {
		return d, err
	}
	d.Choices, d.Lo, d.Hi, d.Log, d.Whole, d.Points = f.OneOf, f.From, f.To, f.Scale == "log", strings.Contains(kind, "int"), f.Points
	return d, d.check(kind)
}

// unknown returns the error of a key that no setting has.
func unknown(key string, kinds map[string]string) error {
	if near, ok := config.Nearest(key, slices.Sorted(maps.Keys(kinds))); ok {
		return fmt.Errorf("no such setting: did you mean %s?", near)
	}
	return errors.New("no such setting: weft config show lists them, the algorithm's with set. before them")
}

// logFrom is how many times its lower end the upper end of a range is from which orders of
// magnitude count in it, where its scale is not given.
const logFrom = 10

// ParseDim reads a setting that varies from one text: a range, as in 1e-4..1e-2, or values with
// commas between them. A range whose upper end is at least 10 times its lower one, which is above
// 0, has a scale of logarithms.
func ParseDim(key, text, source string, kinds map[string]string) (d Dim, err error) {
	d = Dim{Key: key, Source: source}
	kind, known := kinds[key]
	lo, hi, isRange := strings.Cut(text, "..")
	switch {
	case !known:
		return d, unknown(key, kinds)
	case !isRange:
		if d.Choices, err = config.Items(text); err == nil && len(d.Choices) < 2 {
			err = fmt.Errorf("%q is no range, as in 1e-4..1e-2, and no list of values, as in 32,64,128", text)
		}
		return d, err
	}
	var errLo, errHi error
	d.Lo, errLo = strconv.ParseFloat(lo, 64)
	d.Hi, errHi = strconv.ParseFloat(hi, 64)
	if errLo != nil || errHi != nil {
		return d, fmt.Errorf("the ends of %q are not both numbers, as in 1e-4..1e-2", text)
	}
	d.Log, d.Whole = d.Lo > 0 && d.Hi >= logFrom*d.Lo, strings.Contains(kind, "int")
	return d, d.check(kind)
}

// check reports what is wrong with a range.
func (d Dim) check(kind string) error {
	switch numeric := strings.HasSuffix(kind, "int") || strings.HasSuffix(kind, "64"); {
	case len(d.Choices) > 0 && (d.Lo != 0 || d.Hi != 0):
		return errors.New("has both oneof and from or to: give one of them")
	case len(d.Choices) > 0:
		return nil
	case !numeric:
		return fmt.Errorf("is a %s, which has no range: list its values, as in [a, b]", kind)
	case !(d.Lo < d.Hi):
		return fmt.Errorf("from %v to %v is no range: give from and to, the smaller first", d.Lo, d.Hi)
	case d.Log && d.Lo <= 0:
		return fmt.Errorf("from %v: a scale of logarithms begins above 0", d.Lo)
	case d.Whole && (d.Lo != math.Trunc(d.Lo) || d.Hi != math.Trunc(d.Hi)):
		return fmt.Errorf("from %v to %v: the setting takes whole numbers", d.Lo, d.Hi)
	}
	return nil
}

// bounds returns the ends of the range on the scale that values are drawn on. Those of whole
// numbers are half a number wider, so that all have the same share.
func (d Dim) bounds() (lo, hi float64) {
	lo, hi = d.Lo, d.Hi
	if d.Whole {
		lo, hi = lo-.5, hi+.5
	}
	if d.Log {
		return math.Log(max(lo, d.Lo/2)), math.Log(hi)
	}
	return lo, hi
}

// At returns the value at a place from 0 to 1.
func (d Dim) At(u float64) string {
	if n := len(d.Choices); n > 0 {
		return d.Choices[min(n-1, int(u*float64(n)))]
	}
	lo, hi := d.bounds()
	x := lo + u*(hi-lo)
	if d.Log {
		x = math.Exp(x)
	}
	return d.Text(x)
}

// Text returns a number of a range as a value: within the range, whole if it has to be, with no
// more digits than one reads.
func (d Dim) Text(x float64) string {
	if d.Whole {
		x = math.Round(x)
	} else {
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64)
	}
	return strconv.FormatFloat(min(max(x, d.Lo), d.Hi), 'g', -1, 64)
}

// Number returns a value of a range as a number.
func (d Dim) Number(value string) float64 {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return d.Lo
	}
	return x
}

// Place returns the place of a value that At returned.
func (d Dim) Place(value string) float64 {
	if n := len(d.Choices); n > 0 {
		return (float64(slices.Index(d.Choices, value)) + .5) / float64(n)
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return .5
	}
	lo, hi := d.bounds()
	if d.Log {
		x = math.Log(x)
	}
	return min(max((x-lo)/(hi-lo), 0), 1)
}

// Ends returns values that together show whether all values can be used.
func (d Dim) Ends() []string {
	if len(d.Choices) > 0 {
		return d.Choices
	}
	return []string{d.At(0), d.At(1)}
}
