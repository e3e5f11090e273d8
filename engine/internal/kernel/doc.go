// Package kernel holds the numeric kernels of the CPU engine: float32 vector loops, reductions and matrix products
// in AVX-512 and AVX2 assembly, each with a pure-Go twin. The level is chosen once, at start, by what the processor
// has; [Use] overrides it.
//
// # Bit rules
//
// Every level gives the same bits, results do not depend on how a caller splits the work, and a row's result does
// not depend on the rows beside it. NaN is one value: its sign and payload are not promised. The rules:
//
//   - Elementwise: each operation rounds on its own. A product followed by a sum is never contracted.
//   - Matrix product: each element of C is one chain of fused multiply-adds over k, increasing, from +0 or from what
//     C held. Tiles and cache blocks change the order in which chains advance, never a chain.
//   - Bias and activation of a product are the separate elementwise kernels applied to its result.
//   - Reduction of n contiguous elements: blocks of [ReduceBlock]; within one, lane j of 16 joins elements j, j+16,
//     ... from the identity, and the lanes are joined 8 apart, then 4, 2, 1; blocks are joined by a pairwise tree.
//   - Reduction over the rows of a matrix: blocks of [ColumnBlock] rows, in order from the identity; blocks are joined
//     by a pairwise tree.
//   - Elementary functions: a fixed sequence of correctly rounded primitives (package gen), shared by all levels.
//
// # Safety
//
// Functions work on as many elements as all their slices have, allocate nothing and never touch memory outside the
// slices. Destinations may be the same slice as a source where the comment says so; other overlaps are not allowed.
package kernel

//go:generate go run ./gen .
