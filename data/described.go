package data

import (
	"encoding/json"
	"errors"
)

// describedPrefix is the scheme of data sets of which there is only a description.
const describedPrefix = "described"

func init() {
	RegisterScheme(Scheme{describedPrefix, func(text string) (Source, error) {
		var d described
		err := json.Unmarshal([]byte(text), &d.meta)
		return d, err
	}})
}

// Describe returns a name by which Open opens a set that has the given description and no rows. An
// agent that learned from data is built on it where the data are not.
func Describe(m Meta) (string, error) {
	text, err := json.Marshal(m)
	return describedPrefix + ":" + string(text), err
}

// described is a data set without its rows.
type described struct{ meta Meta }

func (d described) Meta() Meta { return d.meta }

// Starts returns those of as many episodes and steps, of lengths that are about alike.
func (d described) Starts() []int64 {
	out := []int64{0}
	for i := range d.meta.Episodes {
		steps := (i+1)*d.meta.Steps/d.meta.Episodes - i*d.meta.Steps/d.meta.Episodes
		out = append(out, out[i]+steps+1)
	}
	return out
}

func (d described) Gather(int, []int64, any) error {
	return errors.New("the rows of the data set are not here: only its description is")
}

// Close has nothing to give back.
func (d described) Close() error { return nil }
