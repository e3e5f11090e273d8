// Package replicas runs a training loop as a plan says: a trainer for every replica
// in a scope of its own, the generated program of its group as a goroutine, edges
// between them. The plain loop is the special case of one replica that has
// everything, so that whoever keeps a run's folder need not know the difference.
//
// One replica is the owner of Next. At every consistent point the others tell it
// what they did, it decides, and it may ask them for the state of what is at home
// with them.
//
// # Replicas, edges and cuts
//
// internal/run/replicas carries a plan out in one process. Every replica has a scope of its own
// (rl.System.Shards: the same seed, its part of the environments), the author's trainer constructed
// in it, and the generated program of its group as a goroutine. The plain loop is the special case
// of one replica without edges, so internal/run/runner keeps folders, metrics and checkpoints for
// both.
//
//   - edge.X is a replica's end of all edges, edge.Link the point-to-point carrier under it: one
//     stream of messages in, bounded queues out. edge.Local is the link of one process and hands
//     tensors over as they are; slices, maps and pointers are copied when they cross
//     (edge/detach.go, decided once for each type). A link across processes needs nothing else. All
//     typed operations (rows put together in rank order, parts cut out, gradients added in rank
//     order, versioned copies) are written once, on Link.
//   - Rows and draws. A key that run.Key made knows which environments its replica has. A graph
//     function on a batch of exactly these draws by their global indices; replay.Take gives their
//     rows of the global minibatch; a number that control draws for itself is the same everywhere.
//     A replica's minibatch has another number of rows each time: Loss.Grad fills them up to one of
//     few numbers with rows of weight 0.
//   - Rows that look at each other. A graph function or loss that is called with a part of the rows
//     must give what it gives for all: on its first call with a form of input, rl/rowwise.go has
//     engine/rowwise show that from the recorded graph, in a trace of 13 rows. One that cannot be
//     shown is an error with the operation's name. A result without rows may still be made of all
//     of them, as logged statistics are: in a replica such a value can be logged, and nothing else.
//   - Second environments (algo.MakeEnv.As) have parts of their own (Scope.AddEnvs): draws for a
//     batch go by the environments that have its number of rows, and it is an error if that fits
//     two. Their episodes are counted by the owner.
//   - Next. One replica owns it. At every Next the others report what they logged (raw tensors,
//     added up as one loop would) and which episodes ended; the owner decides at the cut and tells
//     them. At a cut it may ask for state: every component's comes from its home, arrays put with
//     PutRows are joined in rank order, and the whole is the plain loop's to the byte. So a run
//     resumes under any policy with any number of workers.
//   - Several learners. internal/verify/reference says what they compute: k plain loops that meet
//     at gradients and where an operation needs all rows, without graph, plan or edges. Tests
//     compare with it.
//   - Asynchrony is in edge/async.go. A consumer serves sessions: in one iteration of its own it
//     takes what a producer sent in one of that producer's iterations, first come first served (of
//     all producers, of m, or of one where gradients are applied as they arrive). Within a session
//     both go through their programs in step, so nothing waits in vain. A producer sends a token
//     before anything else of an iteration; as many as may wait is how far it can be ahead, and
//     with a queue of c nothing is more than c+1 versions old when it is used. What is too old all
//     the same is dropped with all of its iteration. Steps count when what they made is used. To
//     save, the owner drops what is in flight and counts it. What a consumer keeps by environment
//     is narrowed to its session's rows for an iteration (rl.Narrower), so that code over it, also
//     as one graph, sees a batch and its memory alike.
//   - Groups of one replica each, such as a learner and a replay that stands apart from it, are in
//     step in an asynchronous run: they meet at every Next, and wait for each other on the edges
//     between them. One of them, the keeper, chooses the sessions of an iteration and tells the
//     others; it has the stores, and reports the steps of what it took. While the owner saves, the
//     keeper drops what is in flight, and the others put aside what came to them.
//   - Failure. The first program that fails stops the others through their context; only its error
//     is told.
//
// # Groups on devices of their own
//
// A plan names a device for every replica, and its scope is made on that. Nothing in a program or
// on an edge knows of it, because values do (rl/copies.go): a value is where it was made, Go's
// memory or a device, and program.run asks it for a buffer on its own device. It is brought there
// on first use and remembered, so that weights cross once a version and a batch once for all its
// readers; what is only looked at by the host, or only stacked for later, never goes there by
// itself. Operations that move data work in Go's memory, but for selecting, stacking and joining
// what is on one device and nowhere else. Replicas on another device than the owner's begin with
// the owner's weights, since initial values round otherwise there.
//
// A step costs what is transferred and called, not what is computed: on an H200 in a virtual
// machine a transfer of 3 kB took 50 us, enqueuing a policy of 2x64 units 100, and reading its
// actions 150, as reading any four bytes did. So a call that draws takes its small inputs from the
// host along (rl/send.go): they are the words of one tensor, which the program takes apart. That
// makes a program of each set of such inputs, and XLA may round differently in each; so the set
// follows from where values are at home, and not from where they happen to be, or a resumed run
// would not have its own bits. Results of a chunk or a span are read together.
//
// What is scattered to a replica on another device begins to be read as soon as the call that makes
// it was made (rl.System.Begin), and is waited for by whoever needs it there, cut into parts or not
// (rl.PartFor): the learner's goroutine makes the next call meanwhile.
//
// Double buffering is laziness, not another goroutine. Under --pipeline the replicas of the
// environments are two parts (plan.Turns), and what is gathered of them is tensors that come part
// by part (edge/turns.go, rl/turns.go): a part is received when its rows are asked for. A graph
// function of such a batch is one call for each part, made when somebody asks for that part;
// Select, Keep and Rows likewise; everything else asks for all rows. So in the learner's program,
// as it was generated, Scatter asks for the first part's actions, which asks for the first part's
// observations, and sends them; then for the second's, while the first part's environments step.
// With I for acting on a half and E for stepping one, a step takes max(2I, I+E) instead of acting
// on all and then stepping all. Two rules keep the result: calls that nobody has asked for yet are
// made before weights or statistics change and before an iteration ends, and a plan is refused
// where a function that needs all rows is called on what comes in parts (plan.needsAll, from the
// graph).
package replicas
