// Package engine is the CPU engine: a GoMLX backend in Go and Go assembly that compiles a graph
// once and then runs it without allocating, deterministically, at the speed of the machine. GoMLX
// knows it as "weft".
//
// # The pipeline
//
// Each stage is plain data with a printer; [Executable.Module] and [Executable.Program] show the
// first and the last. With "check" in the configuration, the graph and the memory plan are checked
// after every pass.
//
//	recorder   GoMLX's calls become functions of nodes, closures with their captures lifted (packages record and ir).
//	           What GoMLX calls fused operations is recorded as what they are made of.
//	flatten    A private copy; calls are replaced by what they call.
//	legalise   Sums and products of 16-bit floats become float32 ones between conversions; convolutions get one order
//	           of axes.
//	simplify   Passes fold, cse, identities and dce (package simplify): constants, common subexpressions, operations
//	           and layouts that change nothing, dead code. Only rewritings that keep every bit.
//	fuse       Nodes become clusters, one step each: regions of elementwise nodes of the same dimensions, which read
//	           through broadcasts, perhaps with a matrix product at their head (pass epilogue) whose rows they finish
//	           while these are in the cache, and with reductions at their tail (pass tail) that take the elements as
//	           they are made. What is cheap is put with its users rather than with its operands.
//	sweep      Clusters that treat the rows of one batch separately, or sum over them, become one step that takes a tile of
//	           rows through all of them: a network forward and backward.
//	plan       Where every value lies: parameters and results in the caller's memory, the rest in one arena, by
//	           lifetimes, over a dying operand where possible (pass inplace). The state of a loop is double-buffered,
//	           unless its body updates it in place or leaves it alone.
//	program    A flat list of steps: closures over addresses that were worked out beforehand.
//
// Running a program walks the list. A region goes over its elements in blocks that fit the
// first-level cache, each operation being one loop over a block; what is used only inside a region
// never leaves these blocks. Steps that are large enough are cut into chunks for a fixed pool of
// goroutines; small ones never meet it. The memory of an execution, its frame, is pooled, so one
// executable may run on many goroutines at once.
//
// # Promises
//
//   - The same bits for any number of threads, from every level of the kernels, with every pass on
//     or off. Each elementwise operation rounds by itself; sums and products follow the order that
//     package kernel documents, which depends on shapes alone.
//   - What an operation makes of one row of a batch does not depend on the other rows or on how
//     many there are.
//   - [Call.Run] allocates nothing.
//
// NaN is one value: its sign and payload are not promised.
//
// # What is not there
//
// Complex numbers, FFT, the quantised operations and sub-byte types, dynamic axes, sharding and
// more than one device. They return upstream's not-implemented error.
package engine
