package engine

import (
	"unsafe"

	"github.com/gomlx/compute/shapes"
)

// ref says where a value lies: which of the frame's memories, and how far into it.
type ref struct {
	slot int32
	off  int
}

// frame is the memory of one execution of a program: its arena, the frames of the closures its
// steps run, and the addresses of what the caller owns. Frames are pooled; between executions only
// the caller's addresses change.
type frame struct {
	prog     *program
	mem      []unsafe.Pointer
	arena    []byte
	children []*frame
	scratch  []unsafe.Pointer // one area for each worker, shared with the children
	scrap    []byte           // memory that scratch points into
	workers  *workers
	stock    stock           // memory for the results of the next executions
	fits     []*shapes.Shape // shapes of the last arguments
}

func (fr *frame) at(r ref) unsafe.Pointer { return unsafe.Add(fr.mem[r.slot], r.off) }

// view returns n elements at r as a slice.
func view[T any](fr *frame, r ref, n int) []T { return unsafe.Slice((*T)(fr.at(r)), n) }

// newFrame allocates everything an execution of p needs.
func (p *program) newFrame(w *workers) *frame {
	size := (p.maxScratch() + alignment - 1) &^ (alignment - 1)
	scrap, _ := aligned(size * w.threads)
	scratch := make([]unsafe.Pointer, w.threads)
	for i := range scratch {
		scratch[i] = unsafe.Add(unsafe.Pointer(unsafe.SliceData(scrap)), i*size)
	}
	fr := p.nestedFrame(w, scratch)
	fr.scrap = scrap
	return fr
}

func (p *program) nestedFrame(w *workers, scratch []unsafe.Pointer) *frame {
	fr := &frame{prog: p, workers: w, scratch: scratch, mem: make([]unsafe.Pointer, p.slots()),
		fits: make([]*shapes.Shape, p.params)}
	fr.arena, _ = aligned(max(p.arena, alignment))
	fr.mem[0] = unsafe.Pointer(unsafe.SliceData(fr.arena))
	for i, data := range p.consts {
		fr.mem[p.constSlot(i)] = unsafe.Pointer(unsafe.SliceData(data))
	}
	for _, c := range p.children {
		fr.children = append(fr.children, c.nestedFrame(w, scratch))
	}
	return fr
}

// run executes the program; parameters, captures and outputs have been set.
func (fr *frame) run() {
	for i := range fr.prog.steps {
		fr.prog.steps[i].run(fr)
	}
}

// release forgets what belongs to the caller, so that a pooled frame keeps nothing alive.
func (fr *frame) release() {
	clear(fr.mem[1:fr.prog.constSlot(0)])
}

func (fr *frame) setParam(i int, p unsafe.Pointer)   { fr.mem[1+i] = p }
func (fr *frame) setCapture(i int, p unsafe.Pointer) { fr.mem[1+fr.prog.params+i] = p }
func (fr *frame) setOut(i int, p unsafe.Pointer)     { fr.mem[1+fr.prog.params+fr.prog.captures+i] = p }
func (fr *frame) param(i int) unsafe.Pointer         { return fr.mem[1+i] }
func (fr *frame) out(i int) unsafe.Pointer           { return fr.mem[1+fr.prog.params+fr.prog.captures+i] }
