package part

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// Metric is a number that the loop logged in an iteration, by its name.
type Metric struct {
	Name string `json:"name"`
	X    Number `json:"x"`
}

// Number is a float64 as JSON can hold it: what is no finite number is null there, and
// NaN when it is read.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(text []byte) error {
	x := math.NaN() // which null leaves as it is
	err := json.Unmarshal(text, &x)
	*n = Number(x)
	return err
}

// Bounds of the metrics that go with every sign of life. The record has all of them.
const (
	MaxMetrics    = 64
	maxMetricName = 128 // bytes
)

// Bounded returns the first of some metrics, as many as a Progress has room for.
func Bounded(all []Metric) []Metric {
	out := make([]Metric, 0, min(len(all), MaxMetrics))
	for _, m := range all[:min(len(all), MaxMetrics)] {
		if n := maxMetricName; len(m.Name) > n {
			for n > 0 && !utf8.RuneStart(m.Name[n]) {
				n--
			}
			m.Name = m.Name[:n]
		}
		out = append(out, m)
	}
	return out
}

// MostReason bounds the text of a failure that is kept with a run, of which the store of a
// coordinator takes only so much.
const MostReason = 4 << 10

// Brief returns the text of a failure, of which, if it is too long, the middle is left out: it
// begins with what was being done and ends with what happened, or the other way round.
func Brief(text string) string {
	const gap = "\n[...]\n"
	const half = (MostReason - len(gap)) / 2
	if len(text) <= MostReason {
		return text
	}
	head, tail := half, len(text)-half
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
