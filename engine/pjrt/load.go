//go:build xla

package pjrt

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// preload loads libraries for whoever asks for them by name later. The first of them may need others of the list, so
// it goes round until nothing more can be loaded. What is left the plugin may not need; if it does, it says so.
func preload(libraries []string) {
	for {
		var left []string
		for _, path := range libraries {
			if open(path, C.RTLD_LAZY|C.RTLD_GLOBAL) != nil {
				left = append(left, path)
			}
		}
		if len(left) == 0 || len(left) == len(libraries) {
			return
		}
		libraries = left
	}
}

// load loads the plugin once more than go-xla does, which would print its own report of a failure.
func load(path string) error {
	if err := open(path, C.RTLD_LAZY|C.RTLD_LOCAL); err != nil {
		return fmt.Errorf("the plugin %s cannot be loaded: %w", path, err)
	}
	return nil
}

func open(path string, mode C.int) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if C.dlopen(name, mode) == nil {
		return fmt.Errorf("%s", C.GoString(C.dlerror()))
	}
	return nil
}
