// Package analyze reads a training loop's Go source and makes its fragmented
// dataflow graph.
//
// It loads the author's package and has package tree read the constructor, the
// graph functions and the function marked //weft:train. Then it runs these trees on
// what is known of their values: the constructor's to learn which field holds which
// component, a graph function's to learn which of them it reads, the loop's to make
// the graph. Operations become nodes, loops are gone round until nothing new is
// learnt. Values and the state that operations share go through one analysis of
// reaching definitions. Afterwards nodes are given to fragments. Whatever cannot be
// read, or would not mean the same when the loop is taken apart, is a Finding; all
// of them are reported at once, and nothing is guessed.
//
// # From tree to graph
//
// internal/compile/analyze interprets trees abstractly; docs/fdg.md shows it on PPO. It reads three
// of them: the constructor (which field may hold which components), graph functions (which
// parameters and statistics they read, whether they draw), and the training loop (nodes, edges,
// findings). The state at a point is what every variable may hold and who last wrote every
// resource; a value (both in value.go) is a set of parts of nodes' results, by field. Ways that
// meet are joined, in constructors too: where a setting chooses between two networks, an operation
// may mean either, so it reads both and writes both weakly. Loops are gone round until their head
// knows all that reaches it. partition.go then gives operations to fragments, fragment.go lists
// what crosses, and checks what only the whole graph shows.
//
// What is allowed is listed, not what is forbidden: packages that only compute, with what they
// fill; functions of the author's, by a tree of their own, which says what they write (helper.go);
// keys, which come from run.Key and are used once; values that are equal on every replica. A
// constructor may lay out memory by the rows that its replica has (//weft:sizes says which
// arguments of a word are numbers of rows), or give all of them one value, and nothing else: what
// it computes of them, or under a condition on them, varies (vary.go), and no component, graph
// function or field of the loop may be made of it.
//
// Three tests keep it honest. The oracle (oracle_test.go) runs every accepted loop with
// instrumented sources and compares who really used what with the graph, in both directions. The
// properties rename, spread, extract and reorder. The mutation tests change sources at random:
// never a panic, never a graph that fails fdg.Check.
//
// Where the rules of meaning left room:
//
//   - What comes out of a store is the reader's. By the letter, arithmetic on a drained batch would
//     belong to the store that returned it, and minibatches would cross one by one; here it is the
//     learner's.
//   - An operation to the right of && in an if without else is a branch inside a branch, and
//     accepted.
//   - A number that is set under a condition of another fragment depends on that condition, also
//     where it is a constant.
//   - Guards (if c { return x }, continue, break) put what follows them into the other arm.
//   - What needs all rows of a split batch goes to the learner if it is the vocabulary's, with a
//     note, and is an error if it is a function of the author's that is not marked //weft:rows.
//   - A loop may have no round. So what was written before it reaches what follows it.
package analyze
