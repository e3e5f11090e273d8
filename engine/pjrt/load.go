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

// preload loads libraries that other libraries will ask for by name. The first of them may need
// others of the list, so it goes round until nothing more can be loaded. What is left the plugin
// may not need; if it does, it says so.
func preload(libraries []string) {
	for {
		var left []string
		for _, path := range libraries {
			if _, err := open(path, C.RTLD_LAZY|C.RTLD_GLOBAL); err != nil {
				left = append(left, path)
			}
		}
		if len(left) == 0 || len(left) == len(libraries) {
			return
		}
		libraries = left
	}
}

// load loads the plugin, since go-xla would print its own report of a failure.
func load(path string) error {
	library, err := open(path, C.RTLD_LAZY|C.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("the plugin %s cannot be loaded: %w", path, err)
	}
	return register(path, library)
}

func open(path string, mode C.int) (unsafe.Pointer, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	library := C.dlopen(name, mode)
	if library == nil {
		return nil, fmt.Errorf("%s", C.GoString(C.dlerror()))
	}
	return library, nil
}
