// Package mj is the part of libmujoco that environments need, called without
// cgo: a model file, and many simulations of it that are stepped together.
//
// Versions from 3.17 on have a batch interface (mjb_*), which does that, and of
// which no C struct need be known (batch.go). Older ones, of which Debian has one,
// are stepped here, simulation by simulation (plain.go), and a table says where
// the fields are in the structs of each of them (layouts.tsv).
package mj

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Lib is a loaded library.
type Lib struct {
	Path, Version string
	fn            functions
	layout        layout // nil where there is a batch interface

	once   sync.Once
	why    error
	failed chan struct{} // closed when the library gives up, for which why is the reason
}

// functions are addresses in the library.
type functions struct {
	loadXML, deleteModel, name2id, rnePost, round uintptr

	// The batch interface.
	makeBatch, deleteBatch, model, nthread, persistent, nstate, state uintptr
	component, step, forward, reset, apply, status, failure           uintptr
	output, expand, setLogHandler                                     uintptr

	// What older versions have; they share step with the above.
	makeData, deleteData, resetData, forwardData, userError, userWarning uintptr
}

// table pairs the functions that the version is to have with their names.
func (l *Lib) table() []symbol {
	f := &l.fn
	all := []symbol{
		{"mj_loadXML", &f.loadXML},
		{"mj_deleteModel", &f.deleteModel},
		{"mj_name2id", &f.name2id},
		{"mj_rnePostConstraint", &f.rnePost},
		{"mju_round", &f.round},
	}
	if l.layout != nil {
		return append(all, []symbol{
			{"mj_makeData", &f.makeData},
			{"mj_deleteData", &f.deleteData},
			{"mj_resetData", &f.resetData},
			{"mj_step", &f.step},
			{"mj_forward", &f.forwardData},
			{"mju_user_error", &f.userError},
			{"mju_user_warning", &f.userWarning},
		}...)
	}
	return append(all, []symbol{
		{"mju_setLogHandler", &f.setLogHandler},
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
	}...)
}

type symbol struct {
	name string
	at   *uintptr
}

// batched are the versions, by how they begin, whose batch interface this package
// speaks.
var batched = []string{"3.17.", "4."}

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
	l := &Lib{Path: path, failed: make(chan struct{})}
	if err := l.resolve(func(name string) uintptr { return dlsym(handle, name) }); err != nil {
		return nil, err
	}
	l.quieten()
	loaded.libs[path] = l
	return l, nil
}

// resolve finds the functions, after a look at the version.
func (l *Lib) resolve(find func(name string) uintptr) error {
	version := find("mj_versionString")
	if version == 0 {
		return fmt.Errorf("%s is not a libmujoco: it has no mj_versionString", l.Path)
	}
	l.Version = text(call(version))
	var err error
	if l.layout, err = layoutOf(l.Path, l.Version); err != nil {
		return err
	}
	for _, s := range l.table() {
		if *s.at = find(s.name); *s.at == 0 {
			return fmt.Errorf("%s is MuJoCo %s without %s: %s", l.Path, l.Version, s.name, Install)
		}
	}
	return nil
}

// layoutOf returns the layout of a version, nil if it needs none.
func layoutOf(path, version string) (layout, error) {
	if isBatched(version) {
		return nil, nil
	}
	known, all := layouts()
	if l := all[version]; l != nil {
		return l, nil
	}
	known = slices.DeleteFunc(slices.Clone(known), isBatched)
	return nil, fmt.Errorf("%s is MuJoCo %s, which is none of the versions known here, %s and all of %s: %s",
		path, version, strings.Join(known, ", "), strings.Join(batched, "x and ")+"x", Install)
}

func isBatched(version string) bool {
	return slices.ContainsFunc(batched, func(v string) bool { return strings.HasPrefix(version, v) })
}

// quieten takes the place of the default handlers, which write warnings to the
// terminal and to a file in the working directory, and end the process at an
// error. A function of a number makes nothing of a warning.
func (l *Lib) quieten() {
	if l.layout == nil {
		call(l.fn.setLogHandler, l.fn.round)
		return
	}
	*(*uintptr)(pointer(l.fn.userWarning)) = l.fn.round
	*(*uintptr)(pointer(l.fn.userError)) = purego.NewCallback(l.fail)
}

// fail takes the message of a library without a batch interface that cannot go on. It must
// not return, or what the library finds impossible would go on; the thread stands
// still for good, and the library is not called any more.
func (l *Lib) fail(message uintptr) uintptr {
	l.once.Do(func() {
		l.why = fmt.Errorf("MuJoCo %s gave up: %s", l.Version, strings.TrimSpace(text(message)))
		close(l.failed)
	})
	select {}
}

// failure returns why the library gave up, nil if it did not.
func (l *Lib) failure() error {
	select {
	case <-l.failed:
		return l.why
	default:
		return nil
	}
}

// guarded runs f in a goroutine of its own, which the library may stop for good. If that happens,
// guarded returns the failure.
func (l *Lib) guarded(f func() error) error {
	if err := l.failure(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-l.failed:
		return l.why
	}
}

// call calls a C function of integers and pointers. Pointers to Go memory stay
// valid during the call when they are converted in the call itself.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// pointer returns an address of C memory as a pointer. It is read through memory
// because a plain conversion looks like arithmetic on a Go pointer.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// text returns a C string.
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

// cstring returns a Go string for C.
func cstring(s string) unsafe.Pointer {
	b := append([]byte(s), 0)
	return unsafe.Pointer(&b[0])
}
