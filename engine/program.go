package engine

import (
	"fmt"
	"strings"
)

// program is a compiled function: a flat list of steps over planned memory.
//
// The memories of a frame are numbered: the arena, then one for each parameter, capture, output and
// constant.
type program struct {
	params, captures, outs int
	consts                 [][]byte
	arena                  int // bytes
	scratch                int // bytes each worker needs for the largest step
	steps                  []step
	children               []*program // the closures of the steps

	// For the body of a loop: result i is written over parameter i, or is parameter i untouched.
	// Its output memory is not used then.
	kept []bool
}

// step is one kernel call with its addresses worked out.
type step struct {
	text string
	run  func(fr *frame)
}

func (p *program) slots() int          { return p.constSlot(len(p.consts)) }
func (p *program) constSlot(i int) int { return 1 + p.params + p.captures + p.outs + i }

func (p *program) maxScratch() int {
	n := p.scratch
	for _, c := range p.children {
		n = max(n, c.maxScratch())
	}
	return n
}

// String prints the steps with the memory they read and write.
func (p *program) String() string {
	var b strings.Builder
	p.print(&b, "")
	return b.String()
}

func (p *program) print(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%sprogram: %d parameters, %d captures, %d outputs, %d constants, arena %d bytes\n", indent, p.params,
		p.captures, p.outs, len(p.consts), p.arena)
	for _, s := range p.steps {
		fmt.Fprintf(b, "%s  %s\n", indent, s.text)
	}
	for i, c := range p.children {
		fmt.Fprintf(b, "%s  closure %d:\n", indent, i)
		c.print(b, indent+"    ")
	}
}

// name prints a ref: a12 is byte 12 of the arena, p0, c0 and o0 a parameter, capture and output, k0
// a constant.
func (p *program) name(r ref) string {
	slot, kind := int(r.slot), "a"
	switch i := slot - 1; {
	case slot == 0:
		return fmt.Sprintf("a%d", r.off)
	case i < p.params:
		kind, slot = "p", i
	case i < p.params+p.captures:
		kind, slot = "c", i-p.params
	case i < p.params+p.captures+p.outs:
		kind, slot = "o", i-p.params-p.captures
	default:
		kind, slot = "k", i-p.params-p.captures-p.outs
	}
	if r.off != 0 {
		return fmt.Sprintf("%s%d+%d", kind, slot, r.off)
	}
	return fmt.Sprintf("%s%d", kind, slot)
}
