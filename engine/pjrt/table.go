//go:build xla

package pjrt

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// A plugin is a table of functions, each of which takes a struct and returns an error or null. These are the structs and
// places that matter here, as version 0 of the interface fixes them: it only ever grows at the end.
typedef void *(*function)(void *);

struct table {
	size_t size;
	void *extensions;
	struct { size_t size; void *extensions; int major, minor; } version;
	function at[];
};

enum { ERROR_DESTROY = 0, ERROR_MESSAGE = 1, EVENT_DESTROY = 5, EVENT_AWAIT = 8, CLIENT_FROM_HOST = 22, EXECUTE = 55 };

struct event { size_t size; void *extensions; void *event; };

struct message { size_t size; void *extensions, *error; const char *text; size_t length; };

struct upload {
	size_t size;
	void *extensions, *client;
	const void *data;
	int type;
	const int64_t *dims;
	size_t rank;
	const int64_t *strides;
	size_t num_strides;
	int semantics; // 0: the data are not looked at once the call is over
	void *device, *memory, *layout;
	void *done; // an event: that the data are not needed any more
	void *buffer;
};

struct execute {
	size_t size;
	void *extensions, *executable, *options;
	const void *arguments;
	size_t devices, inputs;
	const void *outputs;
	void **done; // an event for each device
	void *device;
};

// ahead is whether what this thread executes is not waited for.
static _Thread_local int ahead;
static void run_ahead(int yes) { ahead = yes; }

// nothing is the event that has always been.
static char nothing;

enum { TABLES = 4 };
static const struct table *real[TABLES];
static int tables;

// later is events that this thread was to wait for, and will when it has begun everything.
static _Thread_local struct { int on, table, n; void *event[128]; } later;

static void *event_await(int t, struct event *e) {
	if (e->event == &nothing) return NULL;
	if (!later.on || later.n == sizeof later.event / sizeof *later.event) return real[t]->at[EVENT_AWAIT](e);
	later.table = t;
	later.event[later.n++] = e->event;
	return NULL;
}

static void *event_destroy(int t, struct event *e) {
	if (e->event == &nothing) return NULL;
	for (int i = 0; i < later.n; i++)
		if (later.event[i] == e->event) return NULL;
	return real[t]->at[EVENT_DESTROY](e);
}

static void forget(int t, void *event) {
	struct event e = {sizeof e, NULL, event};
	if (event) real[t]->at[EVENT_DESTROY](&e);
}

static void begin_later(void) { later.on = 1; }

// end_later waits for what was begun. If something failed it gives the text, for the caller to free.
static char *end_later(void) {
	char *text = NULL;
	int t = later.table;
	later.on = 0;
	for (int i = 0; i < later.n; i++) {
		struct event e = {sizeof e, NULL, later.event[i]};
		void *err = real[t]->at[EVENT_AWAIT](&e);
		real[t]->at[EVENT_DESTROY](&e);
		if (!err) continue;
		struct message m = {sizeof m, NULL, err, NULL, 0};
		real[t]->at[ERROR_MESSAGE](&m);
		if (!text) text = strndup(m.text, m.length);
		struct event d = {sizeof d, NULL, err};
		real[t]->at[ERROR_DESTROY](&d);
	}
	later.n = 0;
	return text;
}

static void *upload(int t, struct upload *u) {
	void *err = real[t]->at[CLIENT_FROM_HOST](u);
	if (!err && u->semantics == 0) {
		forget(t, u->done);
		u->done = &nothing;
	}
	return err;
}

static void *execute(int t, struct execute *x) {
	void **done = x->done;
	if (!ahead || !done) return real[t]->at[EXECUTE](x);
	x->done = NULL;
	void *err = real[t]->at[EXECUTE](x);
	x->done = done;
	for (size_t i = 0; !err && i < x->devices; i++) done[i] = &nothing;
	return err;
}

// A function of a table is not told which one it belongs to: each of a few tables has functions of its own.
#define FUNCTIONS(t) \
	static void *event_await_##t(void *a) { return event_await(t, a); } \
	static void *event_destroy_##t(void *a) { return event_destroy(t, a); } \
	static void *upload_##t(void *a) { return upload(t, a); } \
	static void *execute_##t(void *a) { return execute(t, a); }
FUNCTIONS(0) FUNCTIONS(1) FUNCTIONS(2) FUNCTIONS(3)
#define ROW(name) { name##_0, name##_1, name##_2, name##_3 }
static const function awaits[TABLES] = ROW(event_await), destroys[TABLES] = ROW(event_destroy),
	uploads[TABLES] = ROW(upload), executes[TABLES] = ROW(execute);

// eager is the plugin's table with functions that need not wait; null if there is none.
static void *eager(void *library) {
	const struct table *(*get)(void) = (const struct table *(*)(void))dlsym(library, "GetPjrtApi");
	const struct table *api = get ? get() : NULL;
	if (!api || api->version.major != 0 || tables == TABLES) return NULL;
	if (api->size < offsetof(struct table, at) + (EXECUTE + 1) * sizeof(function)) return NULL;
	struct table *mine = malloc(api->size);
	if (!mine) return NULL;
	memcpy(mine, api, api->size);
	int t = tables++;
	real[t] = api;
	mine->at[EVENT_AWAIT] = awaits[t];
	mine->at[EVENT_DESTROY] = destroys[t];
	mine->at[CLIENT_FROM_HOST] = uploads[t];
	mine->at[EXECUTE] = executes[t];
	return mine;
}
*/
import "C"

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
)

// go-xla waits for the end of every upload and every execution. A loop in which an environment's step needs nothing of
// the device but actions would wait three or four times where once is enough, and waiting costs far more than the work. So
// the plugin is handed to go-xla with a table of functions of ours in front of some of its own. An upload promises that
// the host's memory is not looked at once the call is over: there is nothing to wait for. An execution that runs ahead
// gives events that have always been; whoever reads an output waits for it, and has the error if there was one.

// register hands a plugin that was loaded to go-xla, with our functions in its table. One that has another version of the
// interface is left alone: go-xla then loads it as it is.
func register(path string, library unsafe.Pointer) error {
	if _, known := registered[path]; known {
		return nil
	}
	api := C.eager(library)
	if api == nil {
		return nil
	}
	registered[path] = struct{}{}
	return pjrt.RegisterPreloadedPlugin(path, uintptr(api))
}

var registered = map[string]struct{}{} // under the lock of loading

// runAhead does what f does without waiting for what it executes.
func runAhead(f func()) {
	runtime.LockOSThread() // the plugin's functions know by the thread
	defer runtime.UnlockOSThread()
	C.run_ahead(1)
	defer C.run_ahead(0)
	f()
}

// together does what f does and waits for what it reads when everything has begun.
func together(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.begin_later()
	err := f()
	text := C.end_later()
	if text == nil || err != nil {
		C.free(unsafe.Pointer(text))
		return err
	}
	defer C.free(unsafe.Pointer(text))
	return errors.New(C.GoString(text))
}

// atOnce does what f does and waits for what it executes.
func atOnce(f func()) { f() }
