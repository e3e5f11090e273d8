// Package tree holds a training loop, its constructor or a graph function as
// one typed tree: the only reading of the author's source. The graph, the host
// programs, the device program and all that is known of constructors are
// derived from it.
//
// Build makes the tree. A call of an author's function that is read through is
// a Call: a block with the function's body in variables of its own. In the tree
//
//   - every variable is one *types.Var, also where a function is read twice;
//   - an operation is the whole right side of an Assign, and its arguments hold
//     no operation;
//   - conditions, bounds, indices and results hold no operation;
//   - a tuple assignment reads nothing that it assigned before;
//   - a function that is read through returns at its end alone: what a return in
//     a branch or a loop skips stands under the condition that it did not happen;
//   - a break or continue means the innermost Loop;
//   - an Assign says which memory it writes besides its left side.
//
// Check verifies this after every pass; the tests print trees as Go and run them.
//
// # What is preserved
//
// A program for a group executes the tree's statements in order and leaves some
// out. Let P be the plain loop and G the program of a group. Claim: whenever G
// executes a statement that P executes, the variables, and the memory behind
// them, that the statement reads hold the same in G as in P.
//
// The tree's statements are of two kinds. Host statements compute from
// variables alone: executed on equal inputs they leave equal outputs and write
// only what Assign's Lhs, Fills and Shares name. Operations belong to one group
// and read and write components as well. The proof is by induction over the
// execution of P. A variable that a statement of G reads was last given its
// value by a host statement, which G executes because somebody in G reads what
// it writes (the projector keeps every writer of what is read, an Assign to one
// of several variables that may share memory being a writer of all of them); or
// by an operation of G; or by an operation of another group, and then its
// result crosses right behind it, or behind a loop or branch that G leaves out
// and in which nothing that G executes reads it. Values that cross are copied or
// immutable, so that nothing a sender does later can change them. G takes the
// same way through every branch and loop that it executes, since their
// conditions are host expressions over equal variables; those that it leaves out
// hold no statement that it executes. Sends and receives stand at one place of
// one tree, under the same conditions on both sides, so each finds its partner. A message
// may hold what several rounds of a loop send; the receiver reads it round by round.
//
// # How the source becomes a tree
//
// The author's source is read once. tree.Build makes a typed tree of the loop; functions that hold
// operations are read through, each call with variables of its own. Everything else is derived from
// that tree: the graph, the programs, the device program. The constructor and the graph functions
// are read by the same code.
//
//	x := f(g(a), b) with operations in f and g
//	    a Call for g, then one for f: blocks that end with their results in variables
//	return in an inner branch, a switch or a loop
//	    what it skips goes into the other arm; where that is not enough, under if !left
//	p, q = f(p, q), i, xs[i] = 1, 9
//	    values and indices first, into temporaries, then one assignment after another
//	e.(T)[i] = x, f()[i] = x
//	    what is written into first, in a temporary
//	a && op()
//	    a branch
//	switch x { case a: ... case op(): ... }
//	    a chain of ifs, each in the else of the one before it
//	for op() > 1 { ... }, for i, j = 0, 9; ...
//	    a loop that computes its condition, or what followed the round before, at the top of a
//	    round
//	continue outer, break in a switch
//	    as a return
//	ys := xs; ys[0] = 1, fill(xs), acc.Add(x)
//	    an Assign that names, in Fills and Shares, all variables whose memory it may change
//
// tree.Check verifies the form after every pass; a test prints trees as Go, and runs them beside
// the functions that they were read from. The package comment has the proof of what projection
// preserves. Who shares memory is found without regard to order: a variable's roots are the
// variables for which its memory was made, and who has a root in common may share it. That is
// coarse, and easy to believe.
//
// What the compiler knows of a word stands above its declaration (//weft:op sample reads whole
// shape=rows) and is read by package vocabulary; an author's component uses the same directives.
package tree
