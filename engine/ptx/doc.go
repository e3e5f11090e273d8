// Package ptx writes loops by row (package rows) as kernels for NVIDIA GPUs, in PTX, their portable
// assembly.
//
// A warp has a row. What is small it holds in each of its threads, so that taking it apart and
// putting it together costs nothing; a vector of more than a few elements it spreads over its
// threads, element i being in thread i mod 32. Products keep their matrix in registers from the
// first round to the last, if it fits. All threads of a warp always take the same branch, since a
// branch is a row's.
//
// Where matrices do not fit into registers, a team has the row: the warps of a block share 16 rows,
// hold long vectors in shared memory and multiply on the tensor cores (team.go).
//
// engine/ptx writes both in PTX. In a loop a warp has a row; small vectors are in every thread,
// long ones are spread, matrices are in registers, and every branch is a whole warp's. In a region
// a block has 64 rows; long vectors are matrices in shared memory, products are mma steps in TF32
// (three for float32) or bfloat16, and each warp holds its part of the sums through all tiles of a
// block. With bfloat16 (tile_half.go) a matrix of the tile has two forms, float32 for what is done
// element by element and rounded for products, each as long as it is read; a block of weights or
// activations is then one ldmatrix, as it lies or turned round. A matrix that is read for the last
// time while another is made of it, element by element, is overwritten by that one: shared memory
// decides how many blocks a processor has. Blocks leave their sums, and XLA adds these up in order,
// so a program gives the same bits every time. engine/stablehlo prints them as calls of the target
// that XLA's GPU compiler has for PTX, with layouts pinned. ptxtest is a machine for the
// instructions used here: it runs kernels warp by warp, fails on a branch that divides a warp or a
// read behind shared memory, and compares results with the CPU engine, which rounds what products
// multiply where the kernel does; CI needs no GPU for that.
package ptx
