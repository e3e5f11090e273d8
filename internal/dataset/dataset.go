// Package dataset makes data sets of files of other programs, and of other data sets. Whatever it
// makes is written under another name first, so that nothing half-written is left.
package dataset

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/data/parquet"
	"github.com/weft-rl/weft/rl"
)

// write writes the episodes that each hands to add into a file.
func write(out string, m data.Meta, each func(add func(data.Episode) error) error) (data.Meta, error) {
	w, err := parquet.Create(out, m)
	if err != nil {
		return m, err
	}
	if err := each(w.Add); err != nil {
		w.Abort()
		return m, err
	}
	return w.Commit()
}

// Merge writes all episodes of several sets into one file, in their order. Sets whose spaces or
// extra columns differ are refused.
func Merge(out string, from ...string) (data.Meta, error) {
	var sets []data.Source
	defer func() {
		for _, s := range sets {
			_ = s.Close() // they were only read
		}
	}()
	for _, name := range from {
		s, err := data.Open(name)
		if err != nil {
			return data.Meta{}, err
		}
		sets = append(sets, s)
		if err := alike(sets[0].Meta(), s.Meta()); err != nil {
			return data.Meta{}, fmt.Errorf("data sets %s and %s cannot be merged: %w", from[0], name, err)
		}
	}
	m := head(sets[0].Meta())
	m.About["merged"] = fmt.Sprint(len(sets))
	return write(out, m, func(add func(data.Episode) error) error {
		for i, s := range sets {
			if err := copied(s, 0, len(s.Starts())-1, add); err != nil {
				return fmt.Errorf("data set %s: %w", from[i], err)
			}
		}
		return nil
	})
}

// alike returns why episodes of two sets cannot be in one.
func alike(a, b data.Meta) error {
	if !data.Same(a.Obs, b.Obs) {
		return fmt.Errorf("observations are %s and %s", a.Obs, b.Obs)
	}
	if !data.Same(a.Action, b.Action) {
		return fmt.Errorf("actions are %s and %s", a.Action, b.Action)
	}
	if len(a.Extra) != len(b.Extra) {
		return fmt.Errorf("they have %d and %d extra columns", len(a.Extra), len(b.Extra))
	}
	for i, c := range a.Extra {
		if d := b.Extra[i]; c.Name != d.Name || !c.Shape.Equal(d.Shape) {
			return fmt.Errorf("they have extra columns %s %s and %s %s", c.Name, c.Shape, d.Name, d.Shape)
		}
	}
	return nil
}

// head returns what a set that is made of another one is described by, before its rows are known.
func head(m data.Meta) data.Meta {
	about := map[string]string{}
	for k, v := range m.About {
		about[k] = v
	}
	return data.Meta{Env: m.Env, Obs: m.Obs, Action: m.Action, Limit: m.Limit, Extra: m.Extra, About: about, Bounds: m.Bounds}
}

// copied hands episodes [from, to) of a set on.
func copied(s data.Source, from, to int, add func(data.Episode) error) error {
	for i := from; i < to; i++ {
		e, err := data.Read(s, i)
		if err == nil {
			err = add(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Split writes a share of a set's episodes into one file and the others into another. Which
// episodes are in the first is drawn by seed.
func Split(name, first, second string, share float64, seed uint64) (a, b data.Meta, err error) {
	s, err := data.Open(name)
	if err != nil {
		return a, b, err
	}
	defer s.Close()
	n := len(s.Starts()) - 1
	cut := int(share*float64(n) + .5)
	if cut < 1 || cut >= n {
		return a, b, fmt.Errorf("data set %s has %d episodes: a share of %g makes %d and %d, and both need at least one", name, n, share, cut, n-cut)
	}
	in, order := make([]bool, n), make([]int, n)
	rl.NewPermutation(rl.NewKey(seed), n).Fill(order, 0)
	for _, i := range order[:cut] {
		in[i] = true
	}
	part := func(want bool) func(add func(data.Episode) error) error {
		return func(add func(data.Episode) error) error {
			for i, x := range in {
				if x == want {
					if err := copied(s, i, i+1, add); err != nil {
						return fmt.Errorf("data set %s: %w", name, err)
					}
				}
			}
			return nil
		}
	}
	if a, err = write(first, head(s.Meta()), part(true)); err != nil {
		return a, b, err
	}
	b, err = write(second, head(s.Meta()), part(false))
	return a, b, err
}

// Check reads all of a set, and returns what is wrong with it.
func Check(name string) (m data.Meta, err error) {
	s, err := data.Open(name)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := data.Verify(s); err != nil {
		return m, fmt.Errorf("data set %s: %w", name, err)
	}
	return s.Meta(), nil
}

// Histogram counts numbers in equal bins from the least to the greatest.
type Histogram struct {
	Min, Max float64
	Counts   []int
}

// Histograms returns histograms of the returns and the lengths of a set's episodes.
func Histograms(s data.Source, bins int) (returns, lengths Histogram, err error) {
	m, starts := s.Meta(), s.Starts()
	reward := m.Column(data.Reward)
	var ret, length []float64
	for i := range len(starts) - 1 {
		n := int(starts[i+1]-starts[i]) - 1
		rows, out := make([]int64, n), make([]float32, n)
		for j := range rows {
			rows[j] = starts[i] + int64(j)
		}
		if err := s.Gather(reward, rows, out); err != nil {
			return returns, lengths, fmt.Errorf("episode %d: %w", i, err)
		}
		sum := 0.0
		for _, x := range out {
			sum += float64(x)
		}
		ret, length = append(ret, sum), append(length, float64(n))
	}
	return histogram(ret, m.Returns, bins), histogram(length, m.Lengths, bins), nil
}

func histogram(x []float64, s data.Summary, bins int) Histogram {
	if s.Min == s.Max {
		bins = 1
	}
	h := Histogram{Min: s.Min, Max: s.Max, Counts: make([]int, bins)}
	for _, v := range x {
		at := 0
		if s.Max > s.Min {
			at = int(float64(bins) * (v - s.Min) / (s.Max - s.Min))
		}
		h.Counts[max(0, min(bins-1, at))]++
	}
	return h
}
