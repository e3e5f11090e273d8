package rl

import (
	"fmt"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
)

// A replica that has a part of the environments calls graph functions with a part of
// the rows. That gives what the whole batch would only if rows do not look at each
// other, which the engine shows from the recorded graph. It is asked once for each
// function and form of its input, and a function that it refuses is an error instead
// of another result.

// rowChecker is a backend that can show that rows do not look at each other: see
// package engine/rowwise.
type rowChecker interface {
	Rowwise(exe compute.Executable, rows int, params, results []int) error
}

// sampleRows is how many rows a function is checked with: a number that no other axis
// is likely to have, so that none is taken for rows.
const sampleRows = 13

// Apart says that rows of f's results do not look at each other where its graph
// cannot show it: where rows are gathered by numbers that are computed. Whoever says
// so answers for it with a test that splits a batch. Apart returns f.
func (f *Func[I, O]) Apart() *Func[I, O] {
	f.fn.checks.vouched = true
	return f
}

// rowChecks are the answers for one graph function.
type rowChecks struct {
	vouched bool // nothing is asked
	mu      sync.Mutex
	done    []rowAnswer
}

type rowAnswer struct {
	of   []shapes.Shape // of the inputs, without their rows
	only []bool         // results without rows that are made of all of them, by position
	err  error          // rows of other results look at each other
}

// find returns the answer for inputs like leaves, found out by check on first use.
func (r *rowChecks) find(leaves []Tensor, check func() ([]bool, error)) ([]bool, error) {
	lead := rowsOf(leaves)
	of := make([]shapes.Shape, len(leaves))
	for i, t := range leaves {
		if of[i] = shapes.Invalid(); t.Ok() {
			of[i] = t.Shape()
			if hasRows(t, lead) {
				of[i] = withRows(of[i], 0)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.done {
		if slices.EqualFunc(d.of, of, shapes.Shape.Equal) {
			return d.only, d.err
		}
	}
	only, err := check()
	r.done = append(r.done, rowAnswer{of, only, err})
	return only, err
}

func hasRows(t Tensor, lead int) bool {
	return t.Ok() && t.Shape().Rank() > 0 && t.Shape().Dimensions[0] == lead
}

// rowTrace is a graph function as it is checked; build gives its results.
type rowTrace struct {
	scope *Scope
	name  string
	build func(c *Ctx, in []Tensor) []Tensor
}

// check returns an error if rows of the function look at each other on inputs like
// leaves; only says which of its results have no rows and depend on them. It is traced
// with a few rows; where it can only be traced with as many as there are, with these.
func (r rowTrace) check(leaves []Tensor) (only []bool, err error) {
	dev, lead := r.scope.dev, rowsOf(leaves)
	checker, ok := dev.backend.(rowChecker)
	if !ok || lead == 0 {
		return nil, nil
	}
	rows := sampleRows
	like := blank(leaves, lead, rows)
	p, err := r.trace(like)
	if err != nil {
		rows, like = lead, blank(leaves, lead, lead)
		if p, err = r.trace(like); err != nil || lead < 2 {
			return nil, nil // the call itself says what is wrong
		}
	}
	defer p.graph.Finalize()
	params, results := p.rowParams(like, rows), p.rowResults(rows)
	if err := checker.Rowwise(p.exe, rows, params, without(results, 0)); err != nil {
		return nil, fmt.Errorf("%w (in a batch of %d rows)", err, rows)
	}
	only, j := make([]bool, len(p.out)), 0
	for i, present := range p.out {
		if present {
			only[i] = results[j] == 0 && checker.Rowwise(p.exe, rows, params, just(results, j)) != nil
			j++
		}
	}
	return only, nil
}

// without returns results of which those of inner elements a row are not looked at.
func without(results []int, inner int) []int {
	out := slices.Clone(results)
	for i, x := range out {
		if x == inner {
			out[i] = -1
		}
	}
	return out
}

// just returns results of which only number j is looked at.
func just(results []int, j int) []int {
	out := slices.Repeat([]int{-1}, len(results))
	out[j] = results[j]
	return out
}

func (r rowTrace) trace(leaves []Tensor) (p *program, err error) {
	err = trace(r.scope, func() (err error) {
		p, err = tryCompile(&Ctx{dev: r.scope.dev, scope: r.scope}, r.name, leaves, r.build)
		return err
	})
	return p, err
}

// blank returns shapes like leaves' with another number of rows.
func blank(leaves []Tensor, lead, rows int) []Tensor {
	out := make([]Tensor, len(leaves))
	for i, t := range leaves {
		if !t.Ok() {
			continue
		}
		s := t.Shape()
		if hasRows(t, lead) {
			s = withRows(s, rows)
		}
		out[i] = constantOf(s, nil)
	}
	return out
}

// rowParams returns how many elements of the first axis of each of the executable's inputs
// belong to a row, 0 for inputs without rows.
func (p *program) rowParams(leaves []Tensor, rows int) []int {
	out := make([]int, len(p.shapes))
	for i, t := range leaves {
		if p.slots[i] >= 0 && hasRows(t, rows) {
			out[p.slots[i]] = 1
		}
	}
	for _, d := range p.draws {
		if n := p.shapes[d.handle].Dimensions[0]; !d.shared && n%rows == 0 {
			out[d.handle] = n / rows
		}
	}
	return out
}

// rowResults returns how many elements of its first axis each output has for a row; 0 if it has no
// rows.
func (p *program) rowResults(rows int) []int {
	out := make([]int, len(p.like))
	for i, s := range p.like {
		if s.Rank() > 0 && s.Dimensions[0]%rows == 0 {
			out[i] = s.Dimensions[0] / rows
		}
	}
	return out
}

// rowwise returns how f's results depend on rows when it is called on in.
func (f *function) rowwise(in packed) (only []bool, err error) {
	return f.checks.find(in.leaves, func() ([]bool, error) {
		return rowTrace{f.scope, f.name, func(c *Ctx, nodes []Tensor) []Tensor {
			return f.build(c, in.with(nodes)).leaves
		}}.check(in.leaves)
	})
}

// split stops the run if f is called with a replica's part of a batch and needs all of
// it. It returns which results are of that part alone, and may be logged and nothing
// else.
func (f *function) split(in packed) []bool {
	own := f.scope.sharded()
	if f.checks.vouched || own == nil || rowsOf(in.leaves) == own.Of { // it has all rows
		return nil
	}
	only, err := f.rowwise(in)
	if err != nil {
		failf("graph function %q (%s) looks across rows: %w. What it returns would depend on how the batch is split: "+
			"leave the statistic to the loop (rl.Standardise looks at all rows) or choose a policy that does not split this call",
			f.name, declared(f.author), err)
	}
	return only
}

// split returns the row trace of a loss that is differentiated on a replica's part of a batch.
func (l *lossFunction) split(in packed) []bool {
	if l.scope.sharded() == nil {
		return nil
	}
	only, err := l.checks.find(in.leaves, func() ([]bool, error) {
		return rowTrace{l.scope, l.name, func(c *Ctx, nodes []Tensor) []Tensor {
			loss, weight, aux := l.build(c, in.with(nodes))
			return append([]Tensor{loss, weight}, aux.leaves...)
		}}.check(in.leaves)
	})
	if err != nil {
		failf("loss %q (%s) looks across rows: %w. Gradients of several learners would not add up to that of the whole batch: "+
			"compute the statistic in the loop and hand it to the loss (rl.Standardise looks at all rows), or choose a policy with one learner",
			l.name, declared(l.author), err)
	}
	if only == nil {
		return nil
	}
	return slices.Concat(make([]bool, 2+l.tensors()), only[2:]) // behind loss, weight and gradients
}

// whole stops the run if t, which is used so, was made of a replica's part of the rows.
func (t Tensor) whole(used string) {
	if t.val != nil && t.val.only != nil {
		failf("a result of graph function %q that has no rows is %s: it was made of this replica's rows alone, so it can only be logged; "+
			"return what it is made of row by row, or choose a policy that does not split the call", *t.val.only, used)
	}
}

// MustBeWhole stops the run if t was computed from a replica's part of a batch and has no rows,
// because it then differs between replicas. used says how t is used, for the error.
func (system) MustBeWhole(t Tensor, used string) { t.whole(used) }

// declared names a function as its author wrote it.
func declared(f any) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return strings.TrimSuffix(path.Base(name), "-fm")
}
