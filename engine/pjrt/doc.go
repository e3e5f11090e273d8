// Package pjrt is the second executor of recorded computations: a GoMLX backend (compute.Backend) that writes them as
// StableHLO (package stablehlo) and has a PJRT plugin compile and run them, XLA's for CPUs or for GPUs.
//
// It is the same recorder as the CPU engine's, so control flow nests to any depth, gradients included. What differs is
// where the numbers come from: XLA fuses and reorders floating-point arithmetic as it likes, so results equal the CPU
// engine's to float32 tolerance, not to the bit. Integers and random bits are the same.
//
// Executions wait for the device, because go-xla's do; Call.Start does not, and leaves its outputs where they are until
// somebody reads them. Reading copies into memory of the caller's, which may be the same each time; go-xla has no way to
// pin it.
//
// The package needs cgo, and the build tag xla. Without the tag it is empty.
package pjrt
