// Package rows finds loops whose rows do not look at each other, and writes them as what one row
// does.
//
// A rollout is such a loop: every environment acts, moves and is reset by itself, and only the
// network's parameters are common. Executed operation by operation it is thousands of kernels that
// do next to nothing. Written by row it is one kernel, in which a row keeps its state in registers
// from the first round to the last.
//
// Of finds out whether a While node is of this kind, from nothing but the graph: which axis of each
// value has the rows follows from the axis that is asked for, from the results back to what the
// loop is given. Nothing is guessed, so what cannot be shown to be row by row is refused with a
// reason, and the loop stays what it was.
//
// Three things cross rows in a rollout and are seen through. A branch that is taken if any row
// wants it becomes a branch of the row, if a row that does not want it is shown to come out the
// same either way. Sums over rows that a loop adds up become sums of each row, added up after the
// loop. What is put aside round by round is written where it belongs.
//
// XLA's kernels begin and end at operations; a rollout has hundreds of small ones a step, and a
// minibatch's activations go through memory between large ones. engine/rows finds what can be one
// kernel, from the graph alone, by asking backwards: given that the rows of a result are along this
// axis, which axis of each operand has them? A While is a Loop if that question has an answer down
// to the loop's inputs. Three things cross rows in a rollout: a branch that any row takes becomes
// the row's own if, with its condition false, the arm is shown to give what the other arm gives; a
// scalar to which all rows add becomes a sum of each row; what is put aside by round is written in
// place. A Region is a set of sums over rows (gradients of matrices, of biases, logged means) with
// everything that rows compute for them; sums are grouped by how many others lie before them, and
// sums of sums are taken apart, so that the networks of an algorithm do not hang together through
// its total loss. What is refused inside of a region is computed by XLA and read.
package rows
