package analyze

import (
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// branch reads each arm from the same state and joins what they leave. rest is
// what follows an if with an arm that does not get there.
func (x *interp) branch(n *tree.Branch, rest tree.Block) {
	var cond *value
	if n.Cond != nil {
		cond = x.eval(n.Cond)
	}
	arms := slices.Clone(n.Arms)
	literal := n.Cond == nil // it may run any number of times
	if literal || len(arms) == 1 {
		arms = append(arms, tree.Arm{Label: "else"})
	}
	id := -1
	if x.phase == training {
		id = x.node(nodeKey{n, 0}, n.Pos, fdg.Node{Kind: fdg.Branch, Text: n.Text})
		x.consume(id, fdg.OfControl, "", cond)
	}
	if literal {
		x.depth++
		x.literals++
	}
	before, region := x.st, x.region
	var after *state
	for i, a := range arms {
		x.st = before.clone()
		x.arm(n, id, i, a, cond, rest)
		after = merge(after, x.st)
	}
	if literal {
		x.depth--
		x.literals--
	}
	x.region, x.st = region, after
}

// arm reads one arm, and what follows the branch if only this arm gets there.
func (x *interp) arm(n *tree.Branch, id, i int, a tree.Arm, cond *value, rest tree.Block) {
	if leaves(a.Body) {
		rest = nil
	}
	if id >= 0 && (i < len(n.Arms) || len(rest) > 0) {
		x.region = x.b.open(id, i, a.Label)
	}
	x.when(cond, func() {
		x.block(a.Body)
		if len(rest) > 0 && !x.st.dead {
			x.point(n, true)
			x.block(rest)
		}
	})
}

func (x *interp) loop(s *tree.Loop) {
	if s.Init != nil {
		x.stmt(s.Init)
	}
	if s.Next {
		x.nextLoop(s)
		return
	}
	over := x.over(s)
	n := fdg.Node{Kind: fdg.Loop, Text: s.Text, Name: s.Name}
	x.rounds(s, n, func(id int) (bound *value) {
		switch {
		case s.Cond != nil:
			bound = x.eval(s.Cond)
		case s.Range && tree.IsBasic(x.typeOf(s.Over), types.IsInteger):
			bound = over
		case s.Range && x.phase == building:
			bound = varied(nil, varies(over))
		}
		if id >= 0 {
			x.b.extra[id].family = slices.ContainsFunc(objectsOf(over), func(o *object) bool { return o.many })
			x.consume(id, fdg.OfControl, "", bound)
		}
		return bound
	}, func() {
		if s.Key != nil {
			x.declare(s.Key, varied(nil, varies(over)))
		}
		if s.Value != nil {
			x.declare(s.Value, x.strip(settled(over), s.Value.Type()))
		}
		x.block(s.Body)
	})
}

// over evaluates what a loop goes over.
func (x *interp) over(s *tree.Loop) *value {
	if !s.Range {
		return nil
	}
	x.bad(s.Over.Pos(), unordered(x.typeOf(s.Over)))
	return x.eval(s.Over)
}

// unordered says what is wrong with going over a value of a type, if anything is.
func unordered(t types.Type) refusal {
	switch t.Underlying().(type) {
	case *types.Map:
		return refusal{"map", "a map is gone through in another order every time", "range over a sorted slice of its keys, made in the constructor"}
	case *types.Chan:
		return receives
	case *types.Signature:
		return refusal{"function", "an iterator is a function value, which cannot be read through", "range over a number or a slice"}
	}
	return refusal{}
}

func (x *interp) nextLoop(s *tree.Loop) {
	if len(x.loops) > 0 {
		x.bad(s.Pos, refusal{"next", "run.Next is the only point at which a run can be saved, so its loop cannot stand inside another", "make it the outermost loop"})
	}
	if s.Init != nil || s.Post != nil {
		x.bad(s.Pos, refusal{"survives", "a variable of the loop over run.Next would survive an iteration without being saved", "use run.Iter"})
	}
	outer := x.next
	x.next = s
	x.rounds(s, fdg.Node{Kind: fdg.Next, Text: s.Text, Name: "iteration"}, func(int) *value { return nil }, func() { x.block(s.Body) })
	x.next = outer
}

// rounds goes round a loop until its head knows all that can reach it.
func (x *interp) rounds(s *tree.Loop, n fdg.Node, bound func(id int) *value, body func()) {
	id := -1
	if x.phase == training {
		id = x.node(nodeKey{s, 0}, s.Pos, n)
	} else {
		x.depth++
	}
	l := &loop{node: id, conds: len(x.conds)}
	region, entry := x.region, x.st
	head := entry
	var exit *state
	for found, round := len(x.out.list), 0; ; x.out.retract(found) {
		round++
		l.breaks, l.continues = nil, nil
		x.st = head.clone()
		x.loops = append(x.loops, l)
		cond := varied(bound(id), l.known)
		exit = x.st.clone()
		if id >= 0 {
			x.region = x.b.open(id, 0, "")
		}
		x.when(cond, body)
		x.st = merge(l.continues, x.st)
		x.forget(s) // a round's variables end with it
		if s.Post != nil && !s.Next && !x.st.dead {
			x.stmt(s.Post)
		}
		x.loops = x.loops[:len(x.loops)-1]
		x.region = region
		now := merge(entry, x.carried(x.st, id))
		if exit = merge(exit, l.breaks); s.Cond == nil && !s.Range {
			exit = l.breaks // nothing but a break ends it
		}
		if round > wide { // from here on what was known stays known
			now = merge(head, now)
		}
		if now.equal(head) && !l.unsettled() {
			break
		}
		if round > most {
			x.bad(s.Pos, refusal{"unresolved", "what the variables of this loop hold of each other does not settle", "keep what one round leaves for the next in variables of their own, not inside of one another"})
			break
		}
		head = now
	}
	if x.phase != training {
		x.depth--
	}
	x.st = exit
	if exit == nil {
		x.st = head.clone()
		x.st.dead = true
	}
	x.forget(s)
	if id >= 0 {
		x.st = x.st.every(func(d def) def {
			if d.carried == id {
				d.carried = -1
			}
			return d
		})
	}
}

// A loop is gone round until its head knows all that reaches it. That takes one
// round more than there are variables in a chain of assignments; states that come
// and go are joined behind wide rounds, and a loop that has not settled behind so
// many is refused.
const (
	wide = 12
	most = 40
)

// carried marks what a loop's round made as seen by the next one. What an outer
// loop carries stays its own.
func (x *interp) carried(st *state, loop int) *state {
	if loop < 0 {
		return st
	}
	return st.every(func(d def) def {
		if !slices.Contains(x.b.extra[d.node].loops, loop) && d.node != loop {
			return d
		}
		if d.carried >= 0 && slices.Contains(x.b.extra[loop].loops, d.carried) {
			return d
		}
		d.carried = loop
		return d
	})
}
