package thermostat

import (
	"fmt"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

// Journal is the log of a heater, as a data set: a data.Source of this package's own. It stores
// nothing: rows are worked out from their numbers, as they might be asked from a database.
//
// Every day is an episode of 24 hours. The heater is on if it is too cold, and three times in ten
// somebody presses the button without looking.
type Journal struct {
	meta   data.Meta
	starts []int64
}

const (
	days  = 40
	hours = 24
)

// Open returns the log.
func Open() (*Journal, error) {
	b, err := data.NewBuilder(data.Meta{
		Env: "thermostat", Limit: hours, About: map[string]string{"site": "cellar"},
		Obs: rl.Box{Low: []float64{-2}, High: []float64{2}, Dims: []int{1}}, Action: rl.Discrete{N: 2},
	})
	if err != nil {
		return nil, err
	}
	l := &Journal{}
	for d := range days { // a builder finds what the description says of the rows
		if err := b.Add(episode(d)); err != nil {
			return nil, err
		}
	}
	l.starts = b.Starts()
	l.meta, err = b.Meta()
	return l, err
}

// hour is a row of the log.
type hour struct {
	degrees float32 // too warm
	on      int32
	reward  float32
}

// day returns the hours of a day, and the state at its end.
func day(d int) (out [hours + 1]hour) {
	k := rl.NewKey(uint64(d))
	x := 4*k.Uniform(0, 0) - 2
	for t := range out {
		out[t].degrees = float32(x)
		if x < 0 != (k.Uniform(t, 1) < .3) {
			out[t].on, x = 1, min(2, x+.4)
		} else {
			x = max(-2, x-.4)
		}
		out[t].reward = float32(-x * x)
	}
	return out
}

// episode returns a day as columns.
func episode(d int) data.Episode {
	m := data.Meta{Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 2}}
	e := data.NewEpisode(m, hours)
	degrees, on, reward, truncated := e.Columns[0].([]float32), e.Columns[1].([]int32), e.Columns[2].([]float32), e.Columns[4].([]bool)
	for t, h := range day(d) {
		degrees[t] = h.degrees
		if t < hours {
			on[t], reward[t] = h.on, h.reward
		}
	}
	truncated[hours-1] = true // midnight ends no task
	return e
}

// Meta describes the log.
func (l *Journal) Meta() data.Meta { return l.meta }

// Starts returns the first row of every day.
func (l *Journal) Starts() []int64 { return l.starts }

// Gather copies rows of a column.
func (l *Journal) Gather(column int, rows []int64, out any) error {
	for i, r := range rows {
		if r < 0 || r >= l.starts[days] {
			return fmt.Errorf("the log has no row %d", r)
		}
		t := r % (hours + 1)
		h := day(int(r / (hours + 1)))[t]
		switch out := out.(type) {
		case []int32:
			out[i] = h.on
		case []bool: // terminated is never true, truncated at midnight
			out[i] = column == 4 && t == hours-1
		case []float32:
			if out[i] = h.degrees; column == 2 {
				out[i] = h.reward
			}
		}
	}
	return nil
}

// Close does nothing.
func (l *Journal) Close() error { return nil }
