// Package project takes a training loop apart: for every group of a grouping it
// writes a Go program, the loop's control flow with the statements that the group
// owns, and calls of package edge where a dependence crosses.
//
// It is endpoint projection of one tree (package tree), the same for all groups.
// For every group a walk backwards over the tree finds which statements the group
// executes and what it needs from others where (flow.go, uses.go). Both ends of a
// crossing are cut from one place of the tree, so that no two programs can wait for
// each other (edges.go), and what a loop sends that nobody answers in it crosses behind it
// (batch.go). What replicas of a group do together is in shard.go and
// member.go. emit.go makes a line of every statement, roll.go makes calls of functions
// that one group executes entirely, line.go leaves out what nobody reads, print.go
// writes Go. device.go makes one device program of the whole loop, and spans.go one
// graph of the statements that some lines of a group's program are made of.
//
// # How the claim is kept
//
// Package tree claims that a group's program reads what the plain loop reads,
// provided that the program is made by the following rules. They are all that the
// projector decides; each is in one function.
//
// An operation is executed by the group that has its fragment, and by no other. All
// other statements are host statements. A group executes a host statement if
// something that it writes is wanted behind it: a variable, a field, or memory that
// a wanted variable may share (walker.assign: Lhs, Fills and Shares alike, without
// the variables of Shares that share nothing yet: fresh.go). Then what it reads is
// wanted before it, the places that it writes through included (loop.wants). Nothing
// else makes a statement appear, and nothing but not being wanted makes it
// disappear. A definition ends what is wanted only if it replaces the whole of it;
// an element, a fill and a family's member do not.
//
// What another group's operation made is received right behind the operation
// (walker.assign), or behind an enclosing loop, branch or call that the group leaves
// out, or in which it has no use of it (walker.outside, walker.after). It may leave
// one out if no operation of its own stands there, no jump leaves it, and all that
// it wants of what is written there comes from one other group, which then wants it
// at the same place (walker.owed). A value that crosses is a copy. So a variable
// must not cross where the group writes its memory later, if another variable may
// share that memory (loop.shares): the group goes in and executes the statements
// itself.
//
// A group that keeps a loop or branch wants the variables of its condition, so it
// takes the same way as the plain loop. Sender and receiver keep all loops and
// branches around the place where they meet: the receiver, because it wants
// something there; the sender, because it owns an operation there or owes the value.
// This is repeated until no group asks for more (flow.solve), which ends because
// what is asked for only grows.
//
// What is sent in a loop may cross behind the loop, all rounds in one message (flow.batch). Both
// ends keep their places: the sender keeps the values of the rounds and sends them behind the loop,
// the receiver takes one for each round from the message. So every value that is read is the one
// that was read before, whatever it is used for, and the claim is not touched. What has to be shown
// is that nobody waits in vain. Inside a loop let a group wait for another if it receives something
// from it there, or if it sends something to it one by one, since queues are bounded; and let it
// wait for all that this one waits for. An edge is batched if its sender does not wait for its
// receiver. Groups that wait for each other thus batch nothing between them, and meet as without
// batches. Of all others, one set of groups that wait for each other waits for nobody else: it gets
// through the loop, since what it sends to the rest is kept, and then sends the batches, for which
// there is room unless the receiver is still in an earlier execution of the loop, of which all
// batches are sent. Without these groups the same holds of those that remain. The loop must not be
// left by a return, which would skip the sending, and run.Next's loop is no such loop. Inserts into
// a table of another group are sent once an iteration by this, wherever the collecting loop reads
// nothing of that group.
//
// A call is printed in place of the statements that it was read through to if the
// program has all of them and nothing between them. Statements in it that the
// program does not want may be executed as well if they cannot fail, whatever their
// operands hold: what they write is not wanted (emitter.closed).
//
// At the end every program is compared with the tree: each operation of its group,
// and each end of its edges, is there once (emitter.complete).
//
// # From graph to programs
//
// internal/compile/project makes one Go program for each group of a grouping; docs/programs.md
// shows what comes out. It is endpoint projection of the tree. Only operations have homes; a host
// statement is executed by every group that needs what it writes. flow.go goes through the tree
// backwards, once for each group, with the parts of variables that are wanted (parts.go, uses.go):
// who wants what another group's operation made receives it, behind the statement that made it or
// behind a loop or branch that it passes by; what it asks for is wanted of the sender in the next
// round, until nothing changes. Memory crosses only as a value: a slice that shares memory with
// another variable is filled by every group that reads it. edges.go lists what crosses;
// shard.go and member.go are about replicas. emit.go cuts out a program; where a group executes all
// of a function that was read through, roll.go writes its call again; line.go folds temporaries
// back; print.go names variables and writes it.
//
// spans.go looks in a finished program for statements in a row that are graph work alone, and cuts
// what one graph would do in their place out of the loop as a device program has it, by the nodes
// of both; edge.Fused (rl/span.go) compiles and calls it. Three things make that exact. Logged
// tensors come out of a graph as they are, with when each was logged, and are not added up in it.
// Ends and rewards of steps come out too, so that episodes are followed as ever. And when a check
// in the graph fails, nothing is taken over from it: the statements run instead, and find the fault
// in their own words.
//
// Tests: all loops, the analyser's fixtures included, under every grouping with 1 to 3 replicas and
// with every fragment by itself, give the plain loop's bits (several learners: its weights within
// rounding); faults that are put into programs are seen; loops written otherwise keep their
// meaning; and a checker over the generated code sees that both ends of all edges stand in the same
// order in the same loops. TestMetamorphic writes loops at random (grow_test.go) and runs them
// under random groupings, replicas, fusions and delays on edges: -loops 5000 -seed 2 for more of
// them, -loop N for one again. A loop that fails is printed with most of it left out. What is
// compared is the state, the weights, the records, and what every operation was given and made.
// TestAgreement compares graphs with their trees.
//
// TestSeeded asks whether all this would notice a fault of the compiler. It puts faults into the
// compiler's data between two passes (a lost edge, a lost write, swapped operands, a copy that is
// not sent) and fails for each one that has an effect and that nothing notices: -faults 500 -seed
// 108 for more of them. A fault has no effect only if programs and graph are byte for byte the
// same, or if the programs with it and without it do the same in some thirty runs, in which every
// way through every branch of the loop is taken. Which settings do that is found by looking at the
// ways that runs take (seededways_test.go); TestWays asserts that they do.
//
// internal/verify checks programs by running them, on the user's machine, for the user's loop
// (docs/verify.md). A replica's scope can have an rl.Observer. Operations report their arguments
// and results to it; an operation inside another one does not, since how often it runs may depend
// on the shard. Without an observer this costs one comparison. A trace keeps digests: of a whole
// tensor, and, if its first axis is the replica's environments, a sum over rows of a hash of
// (global row, content). Such sums add up over shards. An operation of a program and one of the
// plain loop are the same if iteration, kind, component and call path agree, and the time on that
// path; a generated line's place is in its comment. A path in generated code ends at the statement,
// so it may fit several paths of the plain loop: then the operation counts only if all of them ran
// in that program. What cannot be told apart is left to the comparison of states.
//
// # From source to a device program
//
// gpu-only makes the whole loop one program. The generator writes one iteration (gen_lowered.go),
// which rl.System.Lower runs once, on nodes: components hold nodes for state, edge.For, edge.Until
// and edge.If make the program's loops and branches, and the author's graph functions, losses and
// estimators build into it as they are. It is the projector's tree with one group that has
// everything (device.go); calls are read through where control or numbers in them are not the
// configuration's. Of every number it is known who knows it (numbers.go, survey.go): Go, while the
// program is built; the host, from counters, for which a function becomes a table with one row an
// iteration; or the device alone, for which arithmetic becomes edge.Calc. control.go makes loops
// over integers the program's, unless their index is more than a position of draws and minibatches:
// then Go writes them out. What follows a continue or break that the device decides goes into the
// other arm.
//
//   - A loss gives its parameters nodes of their own, so that nothing that was computed from them
//     before is differentiated.
//   - Loops are built twice, the first time in vain, to see what they change, what they put aside
//     and what they log.
//   - A table is tensors there (replay/resident.go; Sequences too), with the same tree of sums; the
//     host has it back when it saves.
//   - Episodes are followed by the host from the ends and rewards of all steps, or, where these are
//     more than 4 M a call, added up on the device: then the mean that is reported is of the last
//     iteration's.
//   - A failure's place is the author's: the generated text is embedded, and its comments say where
//     each line comes from.
//   - State is the plain loop's, array by array, so that a run goes on under any other policy.
//
// Refused when it is generated: phases, components that are no rl.Resident, a step or a rollout in
// a branch or in a loop that may end early, numbers of rounds that the configuration does not know,
// numbers of the device in the author's own functions. The tests are the projector's: all loops
// that can be lowered give the plain loop's weights, state, logs and episodes, to the bit.
package project
