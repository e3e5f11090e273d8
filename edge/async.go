package edge

import (
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/rl"
)

// An asynchronous consumer serves sessions. In an iteration of its own it takes
// what a producer sent in one of its iterations, from first to last, so that the
// two go through their programs in step and neither can wait for the other in
// vain. Which producers these are is decided by who was first. A producer says
// that it has begun to send with a token, of which only so many may wait: that
// bounds how far it can be ahead.

// Replicas without shares, such as a learner and a replay that stands apart from it, are in step
// with each other in an asynchronous run as well: they go through the same iterations, and one of
// them takes what producers send.

// loose reports whether the ends of an edge do not wait for each other: those of an asynchronous
// run of which one has a share of the environments.
func (x *X) loose(edge int) bool {
	e := &x.ends[edge]
	return x.top.Async != nil && (x.top.Groups[e.from].Own[0].Of > 0 || x.top.Groups[e.to].Own[0].Of > 0)
}

// token announces what a producer sends in one of its iterations.
type token struct{}

func (x *X) tokens() int { return len(x.top.Edges) + 2 }

// choice is the sessions that the keeper has begun, for replicas in step with it which get
// something from the same producers.
type choice struct {
	Iter int64
	From []int   // replicas
	At   []int64 // their iterations
}

func (x *X) choices() int { return len(x.top.Edges) + 3 }

// Keeper returns the group that chooses the producers of an iteration: the one to which the first
// edge from replicas with shares leads. It is -1 if there is none.
func (t *Topology) Keeper() int {
	for _, e := range t.Edges {
		from, _ := t.Group(e.From)
		to, _ := t.Group(e.To)
		if !e.Log && e.Operator != fdg.Broadcast && t.Groups[from].Own[0].Of > 0 && t.Groups[to].Own[0].Of == 0 {
			return to
		}
	}
	return -1
}

// session is a producer whose iteration is being taken.
type session struct {
	from int // replica
	iter int64
	life int // number of the process in its place
}

// stamp notes what an asynchronous receiver must know of a message, and waits for
// leave to send at all.
func (x *X) stamp(edge int, m Message) Message {
	if !x.loose(edge) {
		return m
	}
	if x.announced < x.iter {
		x.announced = x.iter
		to := x.top.Keeper()
		for r := range x.replicas(to) {
			x.send(x.tokens(), x.top.Number(to, r), Message{Value: token{}, Iter: x.iter})
		}
	}
	m.Versions, m.Iter, m.Steps = slices.Clone(x.versions), x.iter, x.Uncounted()
	return m
}

// Await waits, if the iteration that ends took nothing from anybody, until a
// message on an edge of the runner's has arrived, or some producer has something:
// a consumer that has nothing to do yet does not go round in vain.
func (x *X) Await(edge int) {
	if len(x.sessions) > 0 || x.iter == 0 {
		return
	}
	for x.poll(); !x.has(edge) && !x.has(x.tokens()); {
		x.wait(edge)
	}
}

func (x *X) has(edge int) bool {
	return slices.ContainsFunc(x.ends[edge].waiting, func(q []Message) bool { return len(q) > 0 })
}

// Uncounted returns the steps of the replica's own environments that were not reported yet.
func (x *X) Uncounted() int64 {
	n := x.scope.Steps() - x.counted
	x.counted += n
	if x.Of > 0 {
		n = n * int64(x.Hi-x.Lo) / int64(x.Of)
	}
	return n
}

// age returns how many versions behind what a message was made with is.
func (x *X) age(m Message) (behind int64) {
	for e, v := range m.Versions {
		if e < len(x.top.Edges) && x.top.Edges[e].Operator == fdg.Broadcast && x.ends[e].from == x.group {
			behind = max(behind, x.versions[e]-v)
		}
	}
	return behind
}

// serve returns the next message on an edge of every producer that this iteration is
// for. The first edge that is asked chooses them.
func (x *X) serve(edge int) []Message {
	if len(x.sessions) == 0 && x.group == x.top.Keeper() {
		return x.choose(edge)
	}
	if len(x.sessions) == 0 {
		x.join()
	}
	out := make([]Message, len(x.sessions))
	for i, s := range x.sessions {
		out[i] = x.continued(edge, s)
		for out[i].Iter < s.iter {
			out[i] = x.continued(edge, s)
		}
		x.taking += out[i].Steps
	}
	return out
}

// continued returns the next message of a session.
func (x *X) continued(edge int, s session) Message {
	m, ok := x.from(edge, s.from, s.life)
	if !ok {
		x.abandon()
	}
	return m
}

// from returns the next message of a sender, unless that has departed.
func (x *X) from(edge, from, life int) (m Message, ok bool) {
	for x.lives[from] == life && len(x.ends[edge].waiting[from]) == 0 {
		x.wait(edge)
	}
	if x.lives[from] != life {
		return m, false
	}
	return x.pop(edge, from), true
}

// choose begins sessions with as many producers as the iteration is for, the
// first to send something that is not too old. What comes back is in rank order.
func (x *X) choose(edge int) []Message {
	var out []Message
	for x.more(edge, out) {
		from := x.earliest(x.tokens(), x.open(out))
		if from < 0 {
			x.wait(x.tokens())
		} else if m, ok := x.begin(edge, from); ok {
			out = append(out, m)
		}
		// Who is gone before all have come is not waited for, and not begun with.
		out = slices.DeleteFunc(out, func(m Message) bool { return x.lives[m.From] != m.life })
	}
	slices.SortFunc(out, func(a, b Message) int { return a.From - b.From })
	for _, m := range out {
		x.taking += m.Steps
		x.sessions = append(x.sessions, session{m.From, m.Iter, m.life})
	}
	x.publish(x.ends[edge].from)
	x.breaks(x.ends[edge].from)
	x.narrow(x.ends[edge].from)
	return out
}

// publish tells the replicas in step with the keeper which sessions it has begun.
func (x *X) publish(from int) {
	c := choice{Iter: x.iter}
	for _, s := range x.sessions {
		c.From, c.At = append(c.From, s.from), append(c.At, s.iter)
	}
	for g := range x.top.Groups {
		if x.joins(g, from) {
			x.Put(x.choices(), x.top.Number(g, 0), c)
		}
	}
}

// joins reports whether a group begins the keeper's sessions with producers of another: it is in
// step with the keeper and gets something from them. What producers send each other is no session,
// and nobody would take what they were told.
func (x *X) joins(group, from int) bool {
	return group != x.group && x.top.Groups[group].Own[0].Of == 0 &&
		slices.ContainsFunc(x.ends[:len(x.top.Edges)], func(e end) bool { return e.from == from && e.to == group })
}

// join begins the sessions that the keeper has begun in this iteration.
func (x *X) join() {
	for {
		c := As[choice](x.Take(x.choices(), x.top.Number(x.top.Keeper(), 0)))
		if c.Iter < x.iter {
			continue // nothing was asked for then
		}
		for i, from := range c.From {
			x.sessions = append(x.sessions, session{from, c.At[i], x.lives[from]})
		}
		return
	}
}

// Follows names the stores of the replica that are told where steps of others are missing.
func (x *X) Follows(stores []rl.Breaker) { x.follows = stores }

// breaks tells them of this iteration's producers in a group from which something was lost
// since their last session, and of all before the first.
func (x *X) breaks(group int) {
	var envs []rl.Span
	for _, s := range x.sessions {
		if !x.joined[s.from] {
			x.joined[s.from] = true
			envs = append(envs, x.top.Groups[group].Own[s.from-x.top.Number(group, 0)])
		}
	}
	if len(envs) == 0 {
		return
	}
	for _, c := range x.follows {
		c.Break(envs)
	}
}

// Partly names what the replica keeps of the environments of others: in an iteration it
// is at the rows of those alone whose work is taken.
func (x *X) Partly(kept []rl.Narrower) { x.partly = kept }

// narrow has it so, unless the sessions are with all replicas of the group.
func (x *X) narrow(group int) {
	var to []rl.Span
	rows, of := 0, 0
	for _, s := range x.sessions {
		own := x.top.Groups[group].Own[s.from-x.top.Number(group, 0)]
		to, rows, of = append(to, own), rows+own.Len(), own.Of
	}
	if x.narrowed = rows < of; !x.narrowed {
		return
	}
	for _, c := range x.partly {
		c.Narrow(to)
	}
}

// widen ends that.
func (x *X) widen() {
	if !x.narrowed {
		return
	}
	x.narrowed = false
	for _, c := range x.partly {
		c.Widen()
	}
}

// begin takes the first message of a producer's iteration, unless it cannot be used.
func (x *X) begin(edge, from int) (m Message, ok bool) {
	life := x.lives[from]
	x.pop(x.tokens(), from)
	if m, ok = x.from(edge, from, life); !ok {
		return m, false
	}
	if m.life = life; x.tooOld(m) {
		x.stats[edge].Dropped++
		x.skip(m.From, m.Iter)
		return m, false
	}
	return m, true
}

// use counts the steps of what was taken in this iteration.
func (x *X) use() { x.taken, x.taking = x.taken+x.taking, 0 }

// Used returns the steps of what was taken since the last call, for a replica that tells them to
// the one that decides.
func (x *X) Used() int64 {
	n := x.taken - x.reported
	x.reported = x.taken
	return n
}

// depart drops what a replica that is gone has sent and nobody has begun to use.
// Another in its place begins to count its iterations anew.
func (x *X) depart(m Message) {
	from := m.From
	x.gone[from], x.joined[from] = true, false
	x.lives[from]++
	x.departures++
	x.skipped[from] = 0
	for e := range x.ends {
		for !x.ours(e) && len(x.ends[e].waiting[from]) > 0 {
			x.pop(e, from)
			x.stats[e].Dropped++
		}
	}
	x.link.Took(m)
}

// abandon ends an iteration whose producer is gone. What others sent for it is
// dropped; its steps count only if something was made of them already.
func (x *X) abandon() {
	for _, s := range x.sessions {
		if x.lives[s.from] == s.life {
			x.skip(s.from, s.iter)
		}
	}
	x.sessions, x.taking = x.sessions[:0], 0
	panic(&rl.Failure{Err: ErrDeparted})
}

// producers returns how many of an edge's senders an iteration takes from: one where
// gradients are applied as they arrive. Who is gone is not waited for, if the consumer
// can do without its rows.
func (x *X) producers(edge int) int {
	from := x.ends[edge].from
	k := 0
	for r := range x.replicas(from) {
		if x.top.Async.Whole || !x.gone[x.top.Number(from, r)] {
			k++
		}
	}
	return x.top.Takes(x.group, max(1, k))
}

// Takes returns how many of so many producers an asynchronous iteration of a group takes
// from.
func (t *Topology) Takes(group, of int) int {
	for _, e := range t.Edges {
		if e.Operator == fdg.Reduce && e.To == t.Groups[group].Name {
			return 1
		}
	}
	if m := t.Async.Producers; m > 0 {
		return min(m, of)
	}
	return of
}

// tooOld reports whether something may not be used any more, and notes its age if
// it may.
func (x *X) tooOld(m Message) bool {
	behind := x.age(m)
	if behind > int64(x.top.Async.Staleness) {
		return true
	}
	x.stats[m.Edge].stale(behind)
	return false
}

// skip drops all that a producer sent, and will send, up to an iteration.
func (x *X) skip(from int, iter int64) {
	x.joined[from] = false
	x.skipped[from] = max(x.skipped[from], iter)
	for e := range x.ends {
		for q := x.ends[e].waiting[from]; len(q) > 0 && x.drops(q[0]); q = x.ends[e].waiting[from] {
			x.pop(e, from)
			x.stats[e].Dropped++
		}
	}
}

// drops reports whether a message is of an iteration that is skipped.
func (x *X) drops(m Message) bool { return m.Iter > 0 && m.Iter <= x.skipped[m.From] }

// gradient returns the next one of the session. One that has become too old weighs
// nothing, so that applying it does nothing.
func (x *X) gradient(edge int) rl.Grads {
	began := len(x.sessions) > 0
	m := x.serve(edge)[0]
	x.use() // it is applied at once
	g := valueOf[gradient](m)
	if began && x.tooOld(m) {
		x.stats[edge].Dropped++
		g.Weight = rl.Scalar(0)
	}
	return x.sum([]gradient{g})
}
