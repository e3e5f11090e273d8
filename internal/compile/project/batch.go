package project

import (
	"go/ast"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// batch lets what is sent in the rounds of a loop cross in one message behind it, where the
// receiver of a value has no part in what its sender receives inside the loop. rows are the edges
// in the loop, which is executed as often as freq says. Inner loops come before the loops around
// them, so that the outermost one decides.
func (f *flow) batch(s *tree.Loop, rows []*edgeRow, freq fdg.Freq) {
	if s.Next || returns(s) || f.families[s] != nil {
		return
	}
	waits := f.waits(rows)
	for _, r := range rows {
		if batchable(r) && !waits[r.from][r.to] {
			r.batch, r.Batched, r.Often = s, true, f.g.Often(fdg.Freq{Loops: freq.Loops, Maybe: r.maybe})
		}
	}
}

// batchable reports whether values on an edge may be kept for each other. Copies of components,
// gradients and rows that are cut out for each replica go one by one.
func batchable(r *edgeRow) bool {
	return r.from != r.to && (r.Operator == fdg.Gather || r.Operator == fdg.Send)
}

// waits returns, for every two groups, whether the first waits for the second inside a loop with
// these edges: a receiver for a sender and, as queues are bounded, a sender for a receiver, unless
// the edge may be batched. Waiting for a group is waiting for those that it waits for.
func (f *flow) waits(rows []*edgeRow) [][]bool {
	out := make([][]bool, len(f.groups))
	for i := range out {
		out[i] = make([]bool, len(f.groups))
	}
	for _, r := range rows {
		out[r.to][r.from] = true
		out[r.from][r.to] = out[r.from][r.to] || !batchable(r)
	}
	for k := range out {
		for i := range out {
			for j := range out {
				out[i][j] = out[i][j] || out[i][k] && out[k][j]
			}
		}
	}
	return out
}

// flush sends what the rounds of a loop gave to edges.
func (m *emitter) flush(s tree.Stmt) []*line {
	var edges []ast.Expr
	for _, r := range m.rows {
		if r.batch != nil && tree.Stmt(r.batch) == s && r.from == m.me {
			edges = append(edges, ast.NewIdent(r.ident))
		}
	}
	if edges == nil {
		return nil
	}
	return []*line{m.effect(s.At().Pos, m.edgeCall("Flush", nil, edges...))}
}
