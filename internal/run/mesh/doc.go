// Package mesh is the data plane: it carries the messages of edges between the
// processes of a run.
//
// A process has one Node, which listens. For every epoch of a run that it takes part in it has a
// Session, with one stream to each of the other processes: gRPC's, or shared memory where both are
// of one host. A stream carries frames: messages as package wire writes them, credits for those
// that were taken, and heartbeats. Queues are those of edge.Local: a place for each edge and
// sender, so that a consumer sets the pace across processes as it does within one.
//
// Who connects says first which run, epoch and process it is, and what it knows to
// prove it; that is small, so nobody can make a node wait or take memory before it
// was checked. A peer that breaks the protocol, leaves or falls silent ends the epoch
// with an error that names it, and nothing else. In a star, only the hub does.
//
// # The data plane
//
// internal/run/process carries out what a coordinator assigns to a process (internal/run/part): it
// makes the job of the configuration, builds those replicas of the plan that are its own, connects
// them, says that it is ready, and runs them. Neither programs nor edge.X know: edge.Local hands
// what is for another process's replica to an edge.Beyond, which is a mesh.Session.
//
//   - One stream for each two processes and epoch. Who connects says first which run, epoch and
//     process it is, and what proves it: in gRPC's headers, or in a letter of at most 4 KiB. So
//     nobody can make a node wait or take memory before that was checked. Every process may come
//     once; epochs that are over are not known any more.
//   - A stream is frames by way of a carrier (mesh/stream.go). Between hosts that is a gRPC stream,
//     whose messages mean nothing: a sender that goes on at once has its small frames put together
//     until it waits, or until the goroutine that tends the peer comes to it; large tensors are
//     sent from where they lie. Between processes of one host it is shared memory.
//   - Frames have a number, a length and CRC-32Cs of header and body; a large message is several,
//     so that no frame is larger than 256 KiB and that both sides compute checksums while the rest
//     is on its way. What arrives is copied once into memory that becomes the tensors' own. What it
//     is is known when the program asks for it (edge.Encoded). No size is believed that the bytes
//     at hand do not bear out, and none before the header's checksum was right. TLS authenticates
//     every record, so bodies have no sum of their own there.
//   - Shared memory (internal/run/mesh/ring) is a ring of 1 MiB for each direction in a memfd that
//     is handed over a Unix socket, in a folder of its user's: it has no name, so nothing is left
//     of it after a SIGKILL. Who finds nothing to read or no room says so in the memory and sleeps
//     on an eventfd, which Go's poller waits for like any connection; half of the room must be free
//     before a writer is woken. The socket's end is the other process's. Each side keeps its own
//     positions to itself and believes none that cannot be; the memory's size is sealed. Looking
//     for news before sleeping was tried and is worse where cores are wanted. Where there is no
//     memfd the socket itself carries, with the same frames. Where nobody answers at the socket, or
//     somebody else does, there is TCP: hosts of one name need not have the same files. The socket
//     is in a folder of its user's alone; TCP, on loopback too, asks both sides for a certificate:
//     one that was issued, the user's own (certs.Own), or the one of a household of processes.
//   - Cores. Processes that share memory also tell each other there whether they compute or all of
//     their replicas wait. The engine asks (Backend.Beside) how many others do, and uses its part
//     of the cores: a job that was cut for two threads would wait for a chunk whose thread has no
//     core. So two collectors run on one core each, and the learner on both. Who is sent a message
//     counts as computing at once, so that threads that only look for work leave it their core.
//     Linux leaves a thread that wakes on the core where it last ran when all cores were busy of
//     late, also beside the thread that woke it and with another core idle, and in a process with
//     connections goroutines change threads all the time. So a helper that finds itself on its
//     owner's core goes to another one (engine.leave); nothing is pinned.
//   - Room. The places of edge.Local are on both sides. A credit goes with the next frame, or at
//     once when half of a queue is free or a sender says that it waits; so the consumer sets the
//     pace, and an answer carries its own credit. A sender that does not keep to its room is put
//     out.
//   - Life. Any frame is a sign of life, and a heartbeat is sent when there is none. A peer that
//     breaks off, falls silent for a second or breaks the rules ends the epoch, except in stars;
//     everybody is told whose fault it was before streams close, so all give the same reason. Who
//     leaves says bye and waits until all know.
//   - Stars. Where a plan can spare workers, their processes have one stream, to the learner's,
//     which they open (mesh/star.go). Who breaks off then ends nothing: its replicas depart. The
//     news of that goes the way of their messages, so the learner's edge.X hears it behind all that
//     they sent; it drops what it has not begun to use, gives up the iteration that it is in the
//     midst of taking from one of them (edge.ErrDeparted: dist enters the program again at its top,
//     and no Next is counted), and counts as producers those that are left. When it has done with
//     all of it, another life may come in the same place, with all room free, and is posted what
//     was posted last. Replicas tell the learner their state when they begin, so that one that is
//     lost is never missing in a checkpoint.
//   - The owner's process has a local.Session, the others a local.Follower. Replicas of others are
//     names in dist.World, with the spans that the plan gives them; they report as those of one
//     process do.
//   - Checkpoints are copied at the cut and written while the run goes on, one at a time, here as
//     in one process. In a cluster they are objects of a store.Store whose names say their epoch;
//     one counts when the coordinator has committed its size and SHA-256, after all rows of metrics
//     up to its step. Where an epoch goes on from is exactly such an object.
package mesh
