package rl

import (
	"cmp"
	"fmt"
	"slices"
)

// Episode is one that ended: the sum of its rewards, over all agents of all
// kinds, and its length.
type Episode struct {
	Env    int   // global index
	Step   int64 // steps of all environments when it ended
	Return float64
	Length int64
	Kinds  []float64 // the part of each kind of agent in Return, where there are several
}

// episodeWindow is how many of the last episodes the reported mean is over.
const episodeWindow = 100

// Episodes follows the episodes of a scope's environments. Its state is part of
// the run's, so that a resumed run reports what an unbroken one would.
type Episodes struct {
	returns []float64 // returns of the episodes under way, by environment
	lengths []int64
	names   []string    // names of the kinds of agents, if there are several
	kinds   [][]float64 // their parts of returns
	count   int64
	window  []Episode // the last episodeWindow, oldest first
	fresh   []Episode // since the last take
	on      underway  // the episodes under way, where a device program follows them
	shared  bool      // others have environments too: counting is for who has all
}

func newEpisodes() *Episodes { return &Episodes{} }

// RecordKinds follows one step of environments lo, lo+1, ...: the rewards of each
// kind of agent, summed over its agents, and which of their episodes are over.
// kinds are their names, nil where there is only one. Episodes are ordered by step,
// then environment.
func (e *Episodes) RecordKinds(lo int, step int64, kinds []string, reward [][]float64, over []bool) {
	e.leave()
	e.grow(len(over), kinds)
	for i := range over {
		for k, r := range reward {
			e.returns[i] += r[i]
			if kinds != nil {
				e.kinds[k][i] += r[i]
			}
		}
		e.lengths[i]++
		if over[i] {
			e.add(Episode{Env: lo + i, Step: step, Return: e.returns[i], Length: e.lengths[i], Kinds: e.parts(i)})
			e.returns[i], e.lengths[i] = 0, 0
		}
	}
}

// grow makes room for n environments.
func (e *Episodes) grow(n int, kinds []string) {
	for len(e.returns) < n {
		e.returns, e.lengths = append(e.returns, 0), append(e.lengths, 0)
	}
	e.names = kinds
	for len(e.kinds) < len(kinds) {
		e.kinds = append(e.kinds, make([]float64, n))
	}
}

// parts takes the kinds' parts of environment i's return.
func (e *Episodes) parts(i int) (out []float64) {
	for _, k := range e.kinds {
		out = append(out, k[i])
		k[i] = 0
	}
	return out
}

// kindNames returns the kinds of agents that Episode.Kinds are of; nil where there is
// one.
func (e *Episodes) kindNames() []string { return e.names }

func (e *Episodes) add(x Episode) {
	e.fresh = append(e.fresh, x)
	if !e.shared {
		e.keep(x)
	}
}

// keep counts an episode.
func (e *Episodes) keep(x Episode) {
	e.count++
	e.window = append(e.window, x)
	if len(e.window) > episodeWindow {
		e.window = append(e.window[:0], e.window[1:]...)
	}
}

// Count returns the number of episodes that ended.
//
//weft:refuse log episodes through the runner
func (e *Episodes) Count() int64 { return e.count }

// take returns the episodes that ended since it was last called.
func (e *Episodes) take() []Episode {
	out := e.fresh
	e.fresh = nil
	return out
}

// Mean returns the mean return and length of the last 100 episodes; n is how many there
// are.
func (e *Episodes) Mean() (ret, length float64, n int) {
	for _, x := range e.window {
		ret += x.Return
		length += float64(x.Length)
	}
	n = len(e.window)
	if n > 0 {
		ret, length = ret/float64(n), length/float64(n)
	}
	return ret, length, n
}

// Axis returns that the statistics have a row for each environment.
func (e *Episodes) Axis() Axis { return Envs }

// Save puts the episodes under way and the window.
func (e *Episodes) Save(s *State) {
	e.land()
	PutRowSlice(s, "returns", e.returns)
	PutRowSlice(s, "lengths", e.lengths)
	PutSlice(s, "count", []int64{e.count})
	for i, k := range e.kinds {
		PutRowSlice(s, fmt.Sprint("kinds/", i), k)
	}
	ret, num := make([]float64, 0, len(e.window)), make([]int64, 0, 3*len(e.window))
	for _, x := range e.window {
		ret = append(ret, x.Return)
		num = append(num, int64(x.Env), x.Step, x.Length)
	}
	PutSlice(s, "window/returns", ret)
	PutSlice(s, "window/numbers", num)
}

// Load restores what Save saved.
func (e *Episodes) Load(s *State) error {
	returns, lengths := GetRowSlice[float64](s, "returns"), GetRowSlice[int64](s, "lengths")
	if s.Err() == nil && len(lengths) != len(returns) {
		return fmt.Errorf("state of episodes: %d returns and %d lengths, want equally many", len(returns), len(lengths))
	}
	count := GetSliceN[int64](s, "count", 1)
	ret := GetSlice[float64](s, "window/returns")
	num := GetSliceN[int64](s, "window/numbers", 3*len(ret))
	var kinds [][]float64
	for i := 0; s.Has(fmt.Sprint("kinds/", i)); i++ {
		kinds = append(kinds, GetRowSlice[float64](s, fmt.Sprint("kinds/", i)))
	}
	if s.Err() != nil {
		return s.Err()
	}
	if s.Restarts() {
		returns, lengths, kinds = nil, nil, nil
	}
	*e = Episodes{returns: returns, lengths: lengths, count: count[0], kinds: kinds, shared: e.shared}
	for i, r := range ret {
		e.window = append(e.window, Episode{Env: int(num[3*i]), Step: num[3*i+1], Return: r, Length: num[3*i+2]})
	}
	return nil
}

// merge counts episodes of several replicas' environments, in the order of step
// and environment.
func (e *Episodes) merge(all []Episode) {
	slices.SortStableFunc(all, func(a, b Episode) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Env, b.Env))
	})
	for _, x := range all {
		e.keep(x)
	}
}
