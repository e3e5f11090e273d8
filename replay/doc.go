// Package replay holds what environments produced until a learner reads it.
//
//   - Rows of several steps are made when they are drawn, from single steps in (step, environment)
//     order, and not by a writer beside the environments: the table has one home anyway, an index
//     is a number that never comes again, and the newest rows are held back until all their steps
//     are there.
//   - Priorities are given as they are to be proportional: the power of the error is graph code of
//     the algorithm, sums are a tree in a written order, and what a draw compares is made of the
//     key's bits.
package replay
