//go:build unix

package mj

import "github.com/ebitengine/purego"

func dlopen(path string) (uintptr, error) { return purego.Dlopen(path, purego.RTLD_NOW) }

// dlsym returns 0 where there is no such symbol.
func dlsym(handle uintptr, name string) uintptr {
	address, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return address
}
