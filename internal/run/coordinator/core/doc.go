// Package core is what a coordinator decides: a deterministic state machine that is
// told what happened and says what to do about it. It has no goroutine, clock or
// socket; time is a count of ticks. Whoever drives it does what it says in the order
// it says it, and does nothing further when something cannot be kept (Persist):
// then another coordinator acts.
//
// A run goes on in epochs. An epoch is one plan on one set of workers, from one
// checkpoint; whatever goes wrong in it, and whatever is to change about it, ends it,
// and the next one begins from the last checkpoint that was committed. What belongs to
// an epoch that is over is refused, so that a worker that was thought dead does no harm.
//
// Only where a plan can spare a worker (plan.Plan.Sparing) does the epoch go on without
// it: the part is vacant, and whoever is free takes it over, as another life of it.
// Everything that parts say bears their life as well.
//
// # The control plane
//
// A coordinator plans a run on the workers that have joined and hands each its part
// (internal/run/part is the contract; what runs a part, and how parts exchange values, is the data
// plane's). internal/run/coordinator/core decides, the rest is I/O around it: events in, decisions
// out, in order, Persist before whatever depends on it. Its tests are scripts (core/testdata) and a
// simulation that lets workers and coordinators die, freeze, return and be replaced, by thousands
// of seeds; TestPower shows that it sees faults.
//
//   - Epochs. An epoch is one plan on one set of workers from one committed checkpoint. Whatever
//     goes wrong ends it on all, and the next begins from the last manifest with what is left;
//     workers that join are taken in when the next checkpoint is committed, where nothing is lost
//     by it. The number is kept before a part is assigned, and everything that parts say bears it,
//     so nothing of an old epoch counts. A run's number of shards is that of its first plan: so the
//     bits are the same on fewer workers.
//   - Growing. With max_workers a run is planned on whatever is free. How many shards it then has
//     is the policy's to say (policy.Make): one for each worker where the plain loop's bits come
//     out anyway, and a number of the configuration's alone where gradients of shards are summed.
//     So core does not know the difference: it asks the planner whenever who is free has changed,
//     also for a better plan than the one it is about to change to, and tells it the shards that
//     there were.
//   - Lives. A plan that is asynchronous, and in which everything crosses to or from the one
//     replica that decides (plan.Plan.Sparing), can do without any other worker. Losing one vacates
//     its part; the first free worker, preferably the same, gets it as its next life, from the last
//     checkpoint's weights, and is started when it is ready. Everything that parts say bears their
//     life, and a life is kept before it is assigned, as epochs are: so no two processes are the
//     same life of a part, and none that was given up is heard. A part that broke with the learner
//     waits a moment, since it may be the learner that is lost.
//   - A broken connection is not yet a lost worker. Its part goes on; it comes back and says what
//     it is at, as to a new coordinator. That it is gone is known when its peers say so, when its
//     process comes back without the part, or when it is silent or away for too long.
//   - Failures. A part's error restarts the epoch, or vacates the part where it can be spared,
//     after a moment in which a lost worker may turn out to be the reason. The same error again, in
//     another epoch or in the part's next life, or one that says Permanent() bool of itself, is the
//     algorithm's and ends the run with its own text; one that says Peer() bool is another
//     process's, seen from here. Restarts without a new checkpoint are bounded, as is all waiting.
//   - Planning constructs a run's trainer and environments and asks its policy: code that a
//     submission chooses. The coordinator has a process of its own program do that
//     (cli/planning.go), bounded in time and memory, and remembers what it found out. The core asks
//     about one run at a time, in their order; if an answer takes more than half a second, it is
//     told to go on with other runs and to ask again when the plan is there
//     (coordinator/planning.go). A run that is over has its plan given up.
//   - Links and machines. An error may say whom its process could not reach (Unreached() []string),
//     whose stream broke (Broken() []string), or that it is the machine's (Node() bool). Core
//     remembers connections and workers by that (core/avoid.go) and leaves out of a plan the fewest
//     workers it can, for a time that doubles. Only the process that opens a stream accuses: one
//     that waits cannot tell a cut link from a slow peer. While a part runs, its signs of life say
//     which peers it hears nothing of (core.Quiet). If two name each other when the epoch fails,
//     their link is cut, since the coordinator hears both: the next epoch is planned without it,
//     and nobody waits until an attempt to connect has failed.
//   - Stopping. A run that is to stop is told so where it is decided: Next is the only point at
//     which it can be saved. It ends there as a plain run does at an interruption, and the
//     coordinator ends it when that part is done. The wish is kept with the run and told again to a
//     part that comes back, so it survives coordinators and connections; nothing is planned anew
//     meanwhile, and whatever would begin another epoch has stopped the run instead.
//   - Draining is stopping without the end. A run that has a part on a worker which is to leave is
//     halted likewise; when the part that decides is done, core has the run planned anew instead of
//     ending it (core/drain.go). Record and checkpoint end at the same step, so nothing is rewound.
//     The worker waits to be dismissed, which it is once no run has a part on it.
//   - Programs. Core knows workers' programs by their hashes and asks the planner about workers of
//     one at a time (core/program.go): the run's own first. A run moves when its own has no workers
//     left. Whether another program can build the run is found out by trying, before any step is
//     done.
//   - One store. A worker that joins is asked for the mark that the first one left in its store
//     (coordinator/shared.go). The coordinator itself needs no access to it.
//   - Only coordinators speak with etcd. They hold the leases of the workers they hear of. The
//     embedded etcd listens nowhere, so it needs no users; an existing one is reached by TLS and
//     with a user who may read and write /weft/. A run is one key, written by a transaction that
//     holds only while the leadership does and nobody else wrote it. Log lines, metrics and tensors
//     are not in it.
//   - Detection is by signs of life on the gRPC streams, every 250 ms; a second of silence, or a
//     broken stream, is a loss. Leases (10 s) tell the next coordinator whom to wait for. A
//     coordinator that stood still itself blames nobody for it.
//   - Another coordinator loads what was kept and waits up to 2 s for the workers of epochs under
//     way: they go on without one for 5 s, look for the one that acts, and say what they are at.
//     What they had to say and nobody acknowledged they say again; lines of the record have offsets
//     in their epoch, so they are not there twice. An epoch's record begins in a new file, so that
//     a deposed coordinator writes where nobody reads. Coordinators that may take over must share
//     the folder of runs.
//   - Records. A record is segments of 32 MiB (metrics.Record), of which only the newest is ever
//     copied. Whoever saves a checkpoint counts the bytes of lines before it; the manifest says how
//     many those are in the whole record, so an epoch begins with a cut, and no line is read. Where
//     that is not known, bisection finds the step. epoch.json has the closed segments' sizes: what
//     somebody removed is missed at a checkpoint, at a cut and at the end. Lines are acknowledged
//     after a sync (coordinator/settle.go), apart from the goroutine that hears signs of life. A
//     gap ends the epoch (core.RecordGap), and a cut that finds less than the checkpoint's bytes
//     ends the run.
//   - The loop does not touch a disk but etcd's. What it decides about a run's folder is done by
//     that run's lane (coordinator/lane.go), in order, and so is what is said to workers after it:
//     a slow disk delays one run.
//   - Going on without it. After etcd, and before a worker is told that its checkpoint counts, the
//     coordinator writes into the run's folder from where the run goes on (part.Committed: epoch,
//     shards, manifest). So a run outlives the etcd of a local cluster: weft resume has a new
//     coordinator take it up from that file as an epoch like any other, or has local load the very
//     object. What single processes wrote meanwhile is handed to the store first
//     (cli/resume_elsewhere.go). Whoever trains into a folder holds its lock; of coordinators the
//     one that acts.
//   - The same program is on every worker, by its hash, because what a plan means is in the
//     program. Clients need the same protocol.
//   - --processes N is a coordinator and N workers as children, started again when they die. They
//     die with their parent, by their standard input and on Linux by the kernel.
package core
