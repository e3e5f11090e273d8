package sweep

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/weft-rl/weft/internal/metrics"
)

// Value is a score; NaN, which JSON does not have, is null there.
type Value float64

// MarshalJSON writes the number or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON reads a number or null.
func (v *Value) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(v))
}

// Evaluated reports whether a metric comes from evaluations.
func Evaluated(metric string) bool { return strings.HasPrefix(metric, "eval/") }

// Score returns the newest value of a metric in a run's record at the first row that has until
// steps or more, and the steps of that row; those at the record's end if until is 0. The value is
// NaN if there is none.
func Score(rows []metrics.Row, metric string, until int64) (value float64, steps int64) {
	value = math.NaN()
	for _, row := range rows {
		if until > 0 && steps >= until && row.Step > steps {
			break
		}
		steps = row.Step
		for _, v := range row.Values {
			if v.Name == metric {
				value = v.X
			}
		}
	}
	return value, steps
}

// Judged reports whether a record tells all that Score asks of it: it goes on behind that row, or
// has the metric there.
func Judged(rows []metrics.Row, metric string, until int64) bool {
	first := int64(-1)
	for _, row := range rows {
		if row.Step < until {
			continue
		}
		if first < 0 {
			first = row.Step
		}
		if row.Step > first {
			return true
		}
		for _, v := range row.Values {
			if v.Name == metric {
				return true
			}
		}
	}
	return false
}
