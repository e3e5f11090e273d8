// Package kernel holds the numeric kernels of the CPU engine: float32 vector loops, reductions and
// matrix products in AVX-512 and AVX2 assembly, each with a pure-Go twin. The level is chosen once,
// at start, by what the processor has; [Use] overrides it. Other architectures, and builds with the
// tag noasm, run the twins.
//
// # Bit rules
//
// Every level gives the same bits, results do not depend on how a caller splits the work, and a
// row's result does not depend on the rows beside it. NaN is one value: its sign and payload are
// not promised. The rules:
//
//   - Elementwise: each operation rounds on its own. A product followed by a sum is never
//     contracted.
//   - Matrix product: k is cut into blocks of [ProductBlock]. Over a block, each element of C is
//     one chain of fused multiply-adds, k increasing, from +0; the first block's may start from
//     what C held. The blocks are added in order. Tiles change the order in which chains advance,
//     never a chain.
//   - Reduction of n contiguous elements: blocks of [ReduceBlock]; within one, lane j of 16 joins
//     elements j, j+16, ... from the identity, and the lanes are joined 8 apart, then 4, 2, 1;
//     blocks are joined by a pairwise tree: neighbours, then neighbours of those, and so on, one
//     without a neighbour waiting.
//   - Reduction over the rows of a matrix: blocks of [ColumnBlock] rows, in order from the
//     identity; blocks are joined by a pairwise tree.
//   - Max and Min, elementwise and reduced: a NaN wins, and -0 is below +0.
//   - Elementary functions: a fixed sequence of correctly rounded primitives, shared by all levels.
//     Each is written once, in package gen, which makes the assembly and the Go of it.
//
// # Error bounds
//
// The worst errors found, in units of the last place of the true result, denormal results included;
// "all" is over all 2**32 inputs, "1/5" over one in five of them and neighbourhoods of the hard
// places (go test -run Ulps -every 5 repeats it). Infinities, NaN, signed zeros and denormals are
// as the mathematics has them.
//
//	function  error   inputs      function  error   inputs
//	sqrt      0.5     exact       tanh      1.61    all
//	rsqrt     1.50    1/5         logistic  1.68    1/5
//	exp       1.02    all         erf       1.06    1/5
//	expm1     1.44    all         sin, cos  0.51    1/31
//	log       0.81    1/5         pow       0.51    400,000 pairs
//	log1p     0.51    1/31
//
// Arguments of sin and cos beyond 2**30 are reduced exactly, one at a time.
//
// # Safety
//
// Functions work on as many elements as all their slices have, allocate nothing and never touch
// memory outside the slices; those that take sizes either return an error or do nothing where the
// sizes do not fit. A destination may be the same slice as a source of an elementwise operation;
// other overlaps are not allowed. All functions but [Use] may run at the same time on different
// memory.
package kernel

//go:generate go run ./gen .
