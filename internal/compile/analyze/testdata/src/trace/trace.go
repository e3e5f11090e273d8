// Package trace records, while a loop runs as plain Go, which operation really
// used what which other one made. Calls of it are put into the sources of loops by
// a test; a tensor is known by its identity, a component by its address.
package trace

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/weft-rl/weft/rl"
)

// Record is what was seen.
type Record struct {
	Ran  []string // operations, by place
	Uses []Use
}

// Use is a dependence that was seen.
type Use struct{ From, To, Kind string }

type op struct {
	at, word  string
	component any
}

var (
	ran     = map[string]bool{}
	uses    = map[Use]bool{}
	makers  = map[uintptr]string{}   // who returned a tensor, last
	writers = map[any]string{}       // who wrote a component, last
	reads   = map[any]map[any]bool{} // what a graph function was seen to read
	version = map[*rl.Params]int64{}
	stack   []op   // operations that have begun
	current string // whose arguments were looked at last
	keep    []any  // so that no address is used twice
)

// Take is what was seen since the last Take.
func Take() (r Record) {
	for at := range ran {
		r.Ran = append(r.Ran, at)
	}
	for u := range uses {
		r.Uses = append(r.Uses, u)
	}
	slices.Sort(r.Ran)
	slices.SortFunc(r.Uses, func(a, b Use) int { return strings.Compare(a.From+a.To+a.Kind, b.From+b.To+b.Kind) })
	clear(ran)
	clear(uses)
	clear(writers)
	clear(version)
	return r
}

// vocabulary is where graph functions are called from.
const vocabulary = "github.com/weft-rl/weft/rl."

// place is an operation's own place with the lines of the calls around it, or
// nothing outside of a training loop.
func place(at string) string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	f, more := frames.Next() // the function that holds the operation
	for !strings.HasSuffix(f.Function, ".Train") {
		if !more {
			return ""
		}
		f, more = frames.Next()
		if strings.HasPrefix(f.Function, vocabulary) {
			return "" // a graph function, while it is built
		}
		at += fmt.Sprintf(" < %s:%d", filepath.Base(f.File), f.Line)
	}
	return at
}

func used(from, to, kind string) {
	if from != "" && to != "" {
		uses[Use{from, to, kind}] = true
	}
}

// tensors are the addresses of all tensors in a value.
func tensors(v reflect.Value, f func(uintptr)) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[rl.Tensor]() {
			if p := v.FieldByName("val").Pointer(); p != 0 {
				f(p)
			}
			return
		}
		for i := range v.NumField() {
			tensors(v.Field(i), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			tensors(v.Index(i), f)
		}
	}
}

// In is an argument of an operation.
func In[T any](at string, v T) T {
	to := place(at)
	current = to
	tensors(reflect.ValueOf(v), func(p uintptr) { used(makers[p], to, "value") })
	return v
}

// On is a component whose operation begins.
func On[T any](at, word string, c T) T {
	stack = append(stack, op{place(at), word, c})
	return c
}

// Done ends an operation without results.
func Done() { end() }

// End is Done for an operation without a component.
func End(at string) { finish(op{at: place(at)}) }

// end finishes the operation that began last.
func end() string {
	o := stack[len(stack)-1]
	stack = stack[:len(stack)-1]
	finish(o)
	return o.at
}

func finish(o op) {
	if o.at == "" {
		return
	}
	ran[o.at] = true
	effects(o)
}

// Out is the result of an operation with a component.
func Out[T any](v T) T { return made(end(), v) }

// Out2 are two of them.
func Out2[A, B any](a A, b B) (A, B) {
	at := end()
	return made(at, a), made(at, b)
}

// Give is the result of a function.
func Give[T any](at string, v T) T {
	o := op{at: place(at)}
	finish(o)
	return made(o.at, v)
}

// Give2 are two results of the function whose arguments were looked at last.
func Give2[A, B any](a A, b B) (A, B) {
	at := current
	finish(op{at: at})
	return made(at, a), made(at, b)
}

// made notes who returned a value. A tensor that was already known gets another
// identity, so that both may be told apart.
func made[T any](at string, v T) T {
	if at == "" {
		return v
	}
	known := false
	tensors(reflect.ValueOf(v), func(p uintptr) { known = known || makers[p] != "" })
	if known {
		v = rl.Map(v, again)
	}
	keep = append(keep, v)
	tensors(reflect.ValueOf(v), func(p uintptr) { makers[p] = at })
	return v
}

// again is the same tensor in other memory.
func again(t rl.Tensor) rl.Tensor {
	if t.Shape().Rank() == 0 {
		return t
	}
	index := make([]int, t.Rows())
	for i := range index {
		index[i] = i
	}
	return rl.Gather(t, 1, index)
}

// Read is state that a graph function reads while it is built.
func Read[T any](c T) T {
	if len(stack) > 0 {
		top := stack[len(stack)-1].component
		if reads[top] == nil {
			reads[top] = map[any]bool{}
		}
		reads[top][any(c)] = true
	}
	return c
}

// modes are what operations do to their own component.
var modes = map[string]string{
	"env.Batch.Obs": "r", "env.Batch.Step": "rw", "env.Groups.Obs": "r", "env.Groups.Step": "rw", "rl.Opt.Apply": "rw", "rl.Opt.Count": "r", "rl.Slots.Get": "r", "rl.Slots.Set": "w",
	"rl.Stats.Update": "rw", "nn.Returns.Update": "rw", "replay.Rollout.Insert": "rw", "replay.Rollout.Drain": "rw",
	"replay.Table.Insert": "rw", "replay.Table.Sample": "r", "replay.Table.Ready": "r", "replay.Table.Prioritise": "rw",
	"reads": "r", "writes": "rw",
}

func effects(o op) {
	for c := range reads[o.component] {
		used(writers[c], o.at, "resource")
		if p, ok := c.(*rl.Params); ok {
			if _, known := version[p]; !known {
				version[p] = p.Version()
			}
		}
	}
	mode := modes[o.word]
	if strings.Contains(mode, "r") {
		used(writers[o.component], o.at, "resource")
	}
	if strings.Contains(mode, "w") {
		writers[o.component] = o.at
	}
	if p, ok := o.component.(*rl.Params); ok {
		if _, known := version[p]; !known {
			version[p] = -1
		}
	}
	for p, was := range version { // who writes weights is seen, not known
		if now := p.Version(); now != was && (o.word == "rl.Opt.Apply" || o.word == "rl.Params.Blend") {
			used(writers[p], o.at, "resource")
			writers[p] = o.at
			version[p] = now
		}
	}
}

// Lent is a component that an operation is given and reads.
func Lent[T any](at string, c T) T {
	to := place(at)
	used(writers[any(c)], to, "resource")
	for r := range reads[any(c)] {
		used(writers[r], to, "resource")
	}
	return c
}
