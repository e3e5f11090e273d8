// Package pjrt is the second executor of recorded computations: a GoMLX backend (compute.Backend)
// that writes them as StableHLO (package stablehlo) and has a PJRT plugin compile and run them,
// XLA's for CPUs or for GPUs.
//
// It is the same recorder as the CPU engine's, so control flow nests to any depth, gradients
// included. What differs is where the numbers come from: XLA fuses and reorders floating-point
// arithmetic as it likes, so results equal the CPU engine's to float32 tolerance, not to the bit.
// Integers and random bits are the same.
//
// Executions and uploads run ahead: whoever reads an output waits for it, and has the error if
// there was one. Call.Run waits, Call.Start does not. Transfers of up to a mebibyte go by memory of
// the backend's own, which is page-locked where the plugin can do that, and which is written again
// when the transfer is over; larger ones go by the caller's memory, and are waited for.
// Backend.Begin begins a read that is waited for later.
//
// The package needs cgo, and the build tag xla. Without the tag it is empty.
//
// # The second executor
//
// The same recorded graphs run on XLA. engine/stablehlo writes them as text, one printer an
// operation, from a table; engine/pjrt gives that to a plugin by way of go-xla's pjrt package and
// is a compute.Backend like the engine, so --device xla:cpu and cuda change nothing else. It is not
// GoMLX's own XLA backend, because there closures hang off the main function and control flow does
// not nest; here they are regions, what a loop captures being state that its body hands on. Where
// XLA's meaning differs from the engine's, the engine's is written out: random bits are Philox in
// integer arithmetic, sorts are stable, sums of 16-bit floats are float32. Inputs that are given
// away are named in the program (tf.aliasing_output), so each way of donating is a variant that is
// compiled on first use; pjrt.Call is the bound form, which carries outputs to inputs on the
// device. Go's collector does not see device memory, so the backend runs it every 256 MB that are
// made there. Buffers are never shared with the host, even on CPUs: a Go slice of a plugin's memory
// would not keep it alive. go-xla waits for every execution and every transfer, so it is handed the
// plugin with functions of ours in the plugin's table (table.go): executions run ahead, and events
// of one goroutine's reads are waited for after the last has begun. Call waits as before. Transfers
// of up to a mebibyte go by slots of one allocation outside of Go's heap (staging.go), page-locked
// by PJRT_Client_DmaMap where the plugin has it. A slot is its transfer's until that one's event
// has been, so nobody waits for an upload; a read can begin (Backend.Begin) long before it is
// waited for, and one that nobody waits for gives its slot back when the collector finds it. Where
// no slot is free, transfers go by the caller's memory and are waited for. (Looking for events and
// messages for 200 us before sleeping did not pay where it was tried, on 16 virtual cores:
// transfers and calls themselves became slower.) XLA's compiler for CPUs makes one kernel of a
// key's derivation and the draws with it, and that kernel's time explodes: 84,000 numbers took 7 ms
// with a given key, 23 ms with one of two folds and 1.7 s with one of three, apparently because
// each of a key's four words is computed again for all that read it. So where the backend says so
// (Rolls) chains are loops (rl.Repeat), across which nothing is fused, and these numbers take about
// 1 ms: Philox makes two rounds a trip, recurrence a step a trip. GoMLX differentiates no loop, so
// nn/scan.go makes the backward one itself. On GPUs a trip waits for the host, and chains are
// written out. A module may be for several devices at once: as replicas joined by AllReduce, which
// XLA does with its own collectives, or as one computation whose parameters and results are cut
// (ir.Split, GoMLX's automatic sharding), where XLA finds the collectives. What a loop carries of
// main's parameters is then held as it is cut in every round: left alone, the partitioner cuts
// weights as soon as anything that meets them is cut. pjrt.Mesh is several devices as one, whose
// buffers are whole tensors wherever their parts lie. The CPU engine refuses modules for several
// devices. engine/plugin finds plugins and CUDA's libraries, which are loaded beforehand, so that
// no variable has to be set; it is plain Go, and the rest is behind the tag. What tests of both
// executors have in common (random graphs, nested control flow, operations) is
// engine/internal/enginetest.
package pjrt
