//go:build xla

package pjrt

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdbool.h>
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

enum {
	ERROR_DESTROY = 0, ERROR_MESSAGE = 1, EVENT_DESTROY = 5, EVENT_IS_READY = 6, EVENT_AWAIT = 8, CLIENT_CREATE = 10,
	CLIENT_DEVICES = 16, CLIENT_FROM_HOST = 22, DESCRIPTION_KIND = 26, DEVICE_DESCRIPTION = 29, EXECUTE = 55, DMA_MAP = 110, DMA_UNMAP = 111
};

struct create {
	size_t size;
	void *extensions;
	const void *options;
	size_t num_options;
	void *get, *get_of, *put, *put_of;
	void *client; // what was made
};

struct devices { size_t size; void *extensions, *client; void *const *devices; size_t n; };

struct description { size_t size; void *extensions, *device, *description; };

struct kind { size_t size; void *extensions, *description; const char *text; size_t length; };

struct map { size_t size; void *extensions, *client, *data; size_t length; };

struct unmap { size_t size; void *extensions, *client, *data; };

struct is_ready { size_t size; void *extensions, *event; bool yes; };

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
	int semantics; // 0: the data are not looked at once the call is over; 1: once the event has been
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

// fault is the text of an error, which is destroyed, for the caller to free.
static char *fault(int t, void *err) {
	struct message m = {sizeof m, NULL, err, NULL, 0};
	real[t]->at[ERROR_MESSAGE](&m);
	char *text = strndup(m.text, m.length);
	struct event d = {sizeof d, NULL, err};
	real[t]->at[ERROR_DESTROY](&d);
	return text;
}

// await waits for an event, which is destroyed, and gives the text of its error, if there is one, for the caller to free.
static char *await(int t, void *event) {
	struct event e = {sizeof e, NULL, event};
	void *err = real[t]->at[EVENT_AWAIT](&e);
	forget(t, event);
	return err ? fault(t, err) : NULL;
}

// end_later waits for what was begun. If something failed it gives the text, for the caller to free.
static char *end_later(void) {
	char *text = NULL;
	later.on = 0;
	for (int i = 0; i < later.n; i++) {
		char *one = await(later.table, later.event[i]);
		if (text) free(one);
		else text = one;
	}
	later.n = 0;
	return text;
}

// end_begun is the event of the one thing that was begun, for the caller to wait for; null if nothing was.
static void *end_begun(void) {
	void *event = later.n ? later.event[0] : NULL;
	later.on = later.n = 0;
	return event;
}

// has_been reports whether an event has been. An error counts: who waits for it has it.
static int has_been(int t, void *event) {
	struct is_ready r = {sizeof r, NULL, event, false};
	void *err = real[t]->at[EVENT_IS_READY](&r);
	if (err) free(fault(t, err));
	return err || r.yes;
}

// opened is the client that this thread made last.
static _Thread_local struct { int table; void *client; } opened;

static void *client_create(int t, struct create *c) {
	void *err = real[t]->at[CLIENT_CREATE](c);
	opened.table = t;
	opened.client = err ? NULL : c->client;
	return err;
}

static void begin_opening(void) { opened.client = NULL; }
static int opened_table(void) { return opened.table; }
static void *opened_client(void) { return opened.client; }

// kind_of is what a client's first device is, for the caller to free; null if that is not known.
static char *kind_of(int t, void *client) {
	struct devices d = {sizeof d, NULL, client, NULL, 0};
	void *err = real[t]->at[CLIENT_DEVICES](&d);
	struct description x = {sizeof x, NULL, !err && d.n ? d.devices[0] : NULL, NULL};
	if (!err && d.n) err = real[t]->at[DEVICE_DESCRIPTION](&x);
	struct kind k = {sizeof k, NULL, x.description, NULL, 0};
	if (!err && x.description) err = real[t]->at[DESCRIPTION_KIND](&k);
	if (err) free(fault(t, err));
	return k.text ? strndup(k.text, k.length) : NULL;
}

// dma_map locks memory for a client's transfers, if its plugin can. unmap undoes it.
static int dma_map(int t, void *client, void *data, size_t length) {
	const struct table *api = real[t];
	if (api->size < offsetof(struct table, at) + (DMA_UNMAP + 1) * sizeof(function)) return 0;
	if (!api->at[DMA_MAP] || !api->at[DMA_UNMAP]) return 0;
	struct map m = {sizeof m, NULL, client, data, length};
	void *err = api->at[DMA_MAP](&m);
	if (err) free(fault(t, err));
	return !err;
}

static void dma_unmap(int t, void *client, void *data) {
	struct unmap u = {sizeof u, NULL, client, data};
	void *err = real[t]->at[DMA_UNMAP](&u);
	if (err) free(fault(t, err));
}

// lent is whether what this thread uploads stays as it is until the event has been, which is then kept here.
static _Thread_local struct { int on; void *event; } lent;

static void begin_lending(void) { lent.on = 1; }

static void *end_lending(void) {
	void *event = lent.event;
	lent.on = 0;
	lent.event = NULL;
	return event;
}

static void *upload(int t, struct upload *u) {
	if (lent.on) u->semantics = 1;
	void *err = real[t]->at[CLIENT_FROM_HOST](u);
	if (err || !lent.on) return err;
	lent.event = u->done;
	u->done = &nothing;
	return NULL;
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
	static void *client_create_##t(void *a) { return client_create(t, a); } \
	static void *upload_##t(void *a) { return upload(t, a); } \
	static void *execute_##t(void *a) { return execute(t, a); }
FUNCTIONS(0) FUNCTIONS(1) FUNCTIONS(2) FUNCTIONS(3)
#define ROW(name) { name##_0, name##_1, name##_2, name##_3 }
static const function awaits[TABLES] = ROW(event_await), destroys[TABLES] = ROW(event_destroy),
	creates[TABLES] = ROW(client_create), uploads[TABLES] = ROW(upload), executes[TABLES] = ROW(execute);

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
	mine->at[CLIENT_CREATE] = creates[t];
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

// go-xla waits for the end of every upload and every execution. A loop in which an environment's
// step needs nothing of the device but actions would wait three or four times where once is enough,
// and waiting costs far more than the work. So the plugin is handed to go-xla with a table of
// functions of ours in front of some of its own. An execution that runs ahead gives events that
// have always been; whoever reads an output waits for it, and has the error if there was one. An
// upload of memory that is lent gives such an event too: the real one goes to the lender, who waits
// for it before the memory is written again. A read that has begun is waited for by whoever needs
// what is read.

// register hands a plugin that was loaded to go-xla, with our functions in its table. One that has
// another version of the interface is left alone: go-xla then loads it as it is.
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

var registered = map[string]struct{}{} // guarded by the lock of loading

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
	if failed := told(C.end_later()); err == nil {
		err = failed
	}
	return err
}

// told returns the error of a text of the plugin's, which is freed; nil if there is none.
func told(text *C.char) error {
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	return errors.New(C.GoString(text))
}

// client is one of a plugin's clients, as the plugin knows it.
type client struct {
	table C.int
	c     unsafe.Pointer // nil if the plugin's table is not ours
}

// event is something that a client will have done. Who has it waits for it once.
type event unsafe.Pointer

// opening returns the client that f opens.
func opening(f func() error) (client, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.begin_opening()
	err := f()
	return client{C.opened_table(), C.opened_client()}, err
}

// kind returns what the client's first device is, such as "NVIDIA H200"; "" if that is not known.
func (c client) kind() string {
	if c.c == nil {
		return ""
	}
	text := C.kind_of(c.table, c.c)
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

// lock keeps memory in its place for the client's transfers; it is false where the plugin cannot.
func (c client) lock(data []byte) bool {
	return C.dma_map(c.table, c.c, unsafe.Pointer(&data[0]), C.size_t(len(data))) != 0
}

func (c client) unlock(data []byte) { C.dma_unmap(c.table, c.c, unsafe.Pointer(&data[0])) }

// lending does what f does: an upload of memory that stays as it is until the event has been. It is
// nil if there is none.
func (c client) lending(f func()) event {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.begin_lending()
	f()
	return event(C.end_lending())
}

// begun does what f does, one read, without waiting for it. The event is nil if nothing was begun.
func (c client) begun(f func() error) (event, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.begin_later()
	err := f()
	return event(C.end_begun()), err
}

// wait waits for an event, and lets go of it.
func (c client) wait(e event) error { return told(C.await(c.table, unsafe.Pointer(e))) }

// hasBeen reports whether wait would not have to.
func (c client) hasBeen(e event) bool { return C.has_been(c.table, unsafe.Pointer(e)) != 0 }

// atOnce does what f does and waits for what it executes.
func atOnce(f func()) { f() }
