//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

// numAsm returns how many assembly levels the processor can run. AVX-512 is used only in the form
// every server since Skylake has (F, BW, DQ, VL).
func numAsm() int {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA:
		return 0
	case x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return 2
	}
	return 1
}

func fillAsm(ts []table) {
	if len(ts) > int(AVX2) {
		ts[AVX2] = ts[Go]
		fillAVX2(&ts[AVX2])
		fillReduceAVX2(&ts[AVX2])
	}
	if len(ts) > int(AVX512) {
		ts[AVX512] = ts[AVX2]
		fillAVX512(&ts[AVX512])
		fillReduceAVX512(&ts[AVX512])
	}
}
