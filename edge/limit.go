package edge

import (
	"math"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// A consumer's iteration samples a number of rows that the loop decides, and takes what some
// producers inserted in an iteration of theirs. So the number of producers decides about the
// proportion: with all of them it is the loop's own, with one of k it is k times that. A limiter
// chooses it, iteration by iteration. If samples are ahead, the consumer waits for more producers;
// if inserts are ahead, it takes from fewer, and the others wait with their next iteration until
// they are taken. It never asks for more producers than there are, nor for none, so that nobody
// waits for ever.

// Limit is a proportion that an asynchronous run keeps.
type Limit struct {
	// Ratio is the rows sampled for each row inserted; 0 is any.
	Ratio float64
	// Tolerance is how many samples too many or too few there may be, as a part of those that the
	// rows in the store stand for when the first sample is drawn.
	Tolerance float64
}

// limiter keeps one store's proportion.
type limiter struct {
	Limit
	name  string
	store rl.Metered

	inserted, sampled int64   // when they were last looked at
	begun             bool    // there was an iteration that sampled
	first, drawn      int64   // rows inserted and sampled up to the end of that one
	session           float64 // rows that a producer inserted in the last iteration
	round             float64 // rows sampled in it
}

func newLimiter(to Limit, name string, of rl.Metered) *limiter {
	l := &limiter{Limit: to, name: name, store: of}
	l.inserted, l.sampled = of.Rows()
	return l
}

// note learns what the last iteration did, which took from so many producers.
func (l *limiter) note(sessions int) {
	inserted, sampled := l.store.Rows()
	in, out := inserted-l.inserted, sampled-l.sampled
	l.inserted, l.sampled = inserted, sampled
	if !l.begun && out > 0 {
		l.begun, l.first, l.drawn = true, inserted, sampled
	}
	if sessions > 0 && in > 0 {
		l.session = float64(in) / float64(sessions)
	}
	l.round = float64(out)
}

// ahead returns how many samples the rows inserted since sampling began stand for, less those that
// were drawn.
func (l *limiter) ahead() float64 {
	return float64(l.inserted-l.first)*l.Ratio - float64(l.sampled-l.drawn)
}

// bounds returns how many of k producers the next iteration waits for, and how many it takes
// from if they are there. Before anything is sampled, it takes what there is.
func (l *limiter) bounds(k int) (least, most int) {
	if !l.begun || l.session == 0 {
		return 1, k
	}
	each := l.session * l.Ratio
	room := max(l.Tolerance*l.Ratio*float64(l.first), each) // less than a producer's rows cannot be told apart
	owed := l.round - l.ahead()
	least = min(max(1, int(math.Ceil((owed-room)/each))), k)
	most = min(max(least, int(math.Floor((owed+room)/each))), k)
	return least, most
}

// perInsert returns the store's samples per insert since sampling began; ok is false before that.
func (l *limiter) perInsert() (ratio float64, ok bool) {
	in := l.inserted - l.first
	return float64(l.sampled-l.drawn) / float64(in), l.begun && in > 0
}

// Paces gives the replica the stores whose proportion of samples to inserts it keeps, or only tells
// where the topology sets no limit.
func (x *X) Paces(names []string, stores []rl.Metered) {
	for i, s := range stores {
		to := Limit{}
		if x.top.Async != nil {
			to = x.top.Async.Limit
		}
		x.limits = append(x.limits, newLimiter(to, names[i], s))
	}
}

// PerInsert returns, for each store that has been sampled, its name and its samples per insert.
func (x *X) PerInsert() (out []rl.Logged) {
	for _, l := range x.limits {
		if ratio, ok := l.perInsert(); ok {
			out = append(out, rl.Logged{Name: l.name + "/samples_per_insert", X: ratio})
		}
	}
	return out
}

// wanted returns how many producers an edge's iteration waits for, and how many it takes from if
// they have something already.
func (x *X) wanted(edge int) (least, most int) {
	k := x.producers(edge)
	if x.top.Async.Limit.Ratio == 0 || len(x.limits) == 0 {
		return k, k
	}
	least, most = 1, k
	for _, l := range x.limits {
		lo, hi := l.bounds(k)
		least, most = max(least, lo), min(most, hi)
	}
	return least, max(least, most)
}

// more reports whether choose goes on: there are too few producers, or another one that may
// be taken has something.
func (x *X) more(edge int, taken []Message) bool {
	least, most := x.wanted(edge)
	if len(taken) < least || len(taken) >= most {
		return len(taken) < least
	}
	x.poll()
	return x.earliest(x.tokens(), x.open(taken)) >= 0
}

// open returns who is not among those that messages came from.
func (x *X) open(taken []Message) func(from int) bool {
	return func(from int) bool {
		return !slices.ContainsFunc(taken, func(m Message) bool { return m.From == from })
	}
}
