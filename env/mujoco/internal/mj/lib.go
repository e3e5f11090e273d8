// Package mj is the part of libmujoco that environments need, called without
// cgo: a model file, and many simulations of it that are stepped together.
//
// It rests on the library's batch interface (mjb_*), which came with version 4.
// That interface names every array, so no layout of a C struct is known here: a
// release that moves the fields of mjModel or mjData changes nothing. It also
// steps on threads of its own, several substeps to a call, with the same bits
// for any number of threads.
package mj

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Lib is a loaded library.
type Lib struct {
	Path, Version string
	fn            functions
}

// functions are addresses in the library.
type functions struct {
	loadXML, deleteModel, name2id, rnePost, setLogHandler, round      uintptr
	makeBatch, deleteBatch, model, nthread, persistent, nstate, state uintptr
	component, step, forward, reset, apply, status, failure           uintptr
	output, expand                                                    uintptr
}

// table pairs the functions with their names.
func (f *functions) table() []symbol {
	return []symbol{
		{"mj_loadXML", &f.loadXML},
		{"mj_deleteModel", &f.deleteModel},
		{"mj_name2id", &f.name2id},
		{"mj_rnePostConstraint", &f.rnePost},
		{"mju_setLogHandler", &f.setLogHandler},
		{"mju_round", &f.round},
		{"mjb_makeBatch", &f.makeBatch},
		{"mjb_deleteBatch", &f.deleteBatch},
		{"mjb_model", &f.model},
		{"mjb_nthread", &f.nthread},
		{"mjb_persistent", &f.persistent},
		{"mjb_nstate", &f.nstate},
		{"mjb_state", &f.state},
		{"mjb_stateComponent", &f.component},
		{"mjb_step", &f.step},
		{"mjb_forward", &f.forward},
		{"mjb_reset", &f.reset},
		{"mjb_apply", &f.apply},
		{"mjb_status", &f.status},
		{"mjb_error", &f.failure},
		{"mjb_output", &f.output},
		{"mjb_expand", &f.expand},
	}
}

type symbol struct {
	name string
	at   *uintptr
}

// major is the version whose batch interface this package speaks.
const major = "4"

var loaded = struct {
	sync.Mutex
	libs map[string]*Lib
}{libs: map[string]*Lib{}}

// Open loads the library at path, once in a process.
func Open(path string) (*Lib, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if l := loaded.libs[path]; l != nil {
		return l, nil
	}
	handle, err := dlopen(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be loaded: %w", path, err)
	}
	l := &Lib{Path: path}
	if err := l.resolve(func(name string) uintptr { return dlsym(handle, name) }); err != nil {
		return nil, err
	}
	// The default handler writes warnings to the terminal and to a file in the
	// working directory. A function of a number makes nothing of the message.
	call(l.fn.setLogHandler, l.fn.round)
	loaded.libs[path] = l
	return l, nil
}

// resolve finds the functions, after a look at the version.
func (l *Lib) resolve(find func(name string) uintptr) error {
	version := find("mj_versionString")
	if version == 0 {
		return fmt.Errorf("%s is no libmujoco: it has no mj_versionString", l.Path)
	}
	l.Version = text(call(version))
	if err := checkVersion(l.Path, l.Version); err != nil {
		return err
	}
	for _, s := range l.fn.table() {
		if *s.at = find(s.name); *s.at == 0 {
			return fmt.Errorf("%s is MuJoCo %s without %s: %s", l.Path, l.Version, s.name, Install)
		}
	}
	return nil
}

func checkVersion(path, version string) error {
	if first, _, _ := strings.Cut(version, "."); first != major {
		return fmt.Errorf("%s is MuJoCo %s, version %s is needed: %s", path, version, major, Install)
	}
	return nil
}

// call calls a C function of integers and pointers. Pointers to Go memory stay
// valid during the call when they are converted in the call itself.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// pointer is an address of C memory as a pointer. It is read through memory
// because a plain conversion looks like arithmetic on a Go pointer.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// text is a C string.
func text(address uintptr) string {
	if address == 0 {
		return ""
	}
	p, n := pointer(address), 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// cstring is a Go string for C.
func cstring(s string) unsafe.Pointer {
	b := append([]byte(s), 0)
	return unsafe.Pointer(&b[0])
}
