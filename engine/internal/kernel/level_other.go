//go:build !amd64 || noasm

package kernel

func numAsm() int { return 0 }

func fillAsm([]table) {}
