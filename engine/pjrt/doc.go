// Package pjrt is the second executor of recorded computations: a GoMLX backend (compute.Backend) that writes them as
// StableHLO (package stablehlo) and has a PJRT plugin compile and run them, XLA's for CPUs or for GPUs.
//
// It is the same recorder as the CPU engine's, so control flow nests to any depth, gradients included. What differs is
// where the numbers come from: XLA fuses and reorders floating-point arithmetic as it likes, so results equal the CPU
// engine's to float32 tolerance, not to the bit. Integers and random bits are the same.
//
// Executions and uploads run ahead: whoever reads an output waits for it, and has the error if there was one. Call.Run
// waits, Call.Start does not. Transfers of up to a mebibyte go by memory of the backend's own, which is page-locked where
// the plugin can do that, and which is written again when the transfer is over; larger ones go by the caller's memory, and
// are waited for. Backend.Begin begins a read that is waited for later.
//
// The package needs cgo, and the build tag xla. Without the tag it is empty.
package pjrt
