// Package cost predicts how long an iteration takes under a plan, and chooses plans.
//
// It knows no policy and has no formula for one. What it simulates is a plan's own programs:
//
//   - Record runs the generated programs of a plan in this process for a few iterations, with a
//     tape on every replica: what it computes, which messages it sends, which it takes, in order.
//     Replicas take turns to compute, so that a time is that of a computation by itself; the
//     processor time beside it says how many cores it used.
//   - NewModel makes programs for any number of replicas out of recordings with two and with four.
//     The time of a computation is a line over the share of the environments that a replica has,
//     through the mean times at the same place of the programs. A message's peers become a rule,
//     by the operator of its edge: all ranks, a part of them, the first, the others. The meetings
//     at Next are messages like others.
//   - Predict puts the programs on a site, machines with cores and links, and runs Sim, a
//     discrete-event simulation: queues are bounded, cores and network interfaces are shared. A
//     plan whose replicas do not fit into memory is refused.
//   - What the simulation leaves out (the scheduler's hand-overs, caches, parts of cores that
//     computations share) is measured as one number: after a recording its programs run freely for
//     a moment, and predictions for lanes of this process are corrected by the ratio of both times.
//   - Choose does this for all policies, numbers of workers and pipelining, and orders the plans.
//
// So a policy that an author wrote is predicted like one that comes with Weft. What the model does
// not know: caches and memory bandwidth that computations take from each other on other machines,
// and more threads for one computation than it was recorded with.
package cost
