// Package vocabulary reads what the words of the vocabulary say of themselves:
// the //weft: directives above the declarations of packages rl, env, replay, nn
// and algo. The compiler knows no word by its name.
//
// Above a function or method stands one of
//
//	//weft:op KIND ATTRIBUTE...   an operation; KIND is that of its node in the graph
//	//weft:pure [counter]         its result is the same everywhere
//	//weft:moves                  it puts its arguments together, or takes them apart
//	//weft:refuse ADVICE          it has no place in a loop; what to write instead
//	//weft:next                   its loop is that over iterations
//	//weft:makes ATTRIBUTE...     it makes the component that it returns
//	//weft:registers ATTRIBUTE... it gives a component a name
//	//weft:traces ATTRIBUTE...    in a graph function it reads a component
//	//weft:draws                  in a graph function it draws random numbers
//	//weft:defines function=I     argument I is the constructor of an algorithm
//	//weft:own                    its result differs from replica to replica
//
// and beside one of these
//
//	//weft:sizes I                argument I, from I on with a +, is a number of rows, of
//	                              which a replica gives its own
//
// The attributes of an operation are
//
//	reads, writes     the state of its receiver; replaces all of it
//	state=PART,...    parts of that state besides, such as episodes
//	graph             what the graph function that its receiver was made with reads
//	params            it writes the parameters that its receiver was made with
//	lends             it reads the components among its arguments
//	one               its receiver must be known to be one component
//	whole             a row of the result may depend on other rows
//	host              the result is a batch's numbers as Go data
//	fills, empties    of a store: puts rows in, takes all of them out
//	shape=SHAPE       of the result, if not that of the arguments: env, time, rows, one
//	shards=HOW        what replicas do that have some of the rows: own (it finds
//	                  theirs itself), even (each takes an even share of the result)
//	                  or all (each does all of it)
//	device=NAME       what a device program calls in its place; - for its argument
//	index=I           arguments, from I on with a +, that may be a loop's index there
//	number=I          an argument that may be a number of the device's there
//	again             one key may be given to several of it, each taking a part
//	shows             what it returns is the memory of a tensor
//	turns             it can be called on a part of the rows at a time
//
// Above a type stands one of
//
//	//weft:component KIND ATTRIBUTE...  state with a home
//	//weft:part NAME KIND ATTRIBUTE...  a part of it that has a home of its own
//	//weft:batch [ADVICE]               tensors, or a struct of them; what keeps them
//	//weft:gradient                     a gradient
//	//weft:key                          a key of random numbers
//	//weft:run                          the run; //weft:context is what graph functions are given
//	//weft:trainer                      any trainer
//	//weft:pure                         functions of this type compute only
//
// with axis=AXIS, home=FRAGMENT and copyable for components and their parts; alone is
// for a component of which a loop has one, large for one that is not copied into a
// graph for a call, steady for one that a device writes equally often in every
// iteration.
package vocabulary

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// Use is what a word is for.
type Use int

const (
	Unknown   Use = iota // it says nothing, so it has no place in a loop
	Operation            // a node of the graph
	Pure                 // the same everywhere
	Moves                // only its arguments
	Refused
	Next
)

// Word is what a function or method says of itself.
type Word struct {
	Name    string // package, receiver and name, as in rl.Func.Call
	Use     Use
	Kind    fdg.Kind // of an operation
	Instead string   // of a refused word: what to write

	Reads, Writes  bool     // the state of the receiver
	Replaces       bool     // all of that state
	State          []string // parts of it besides
	Graph          bool     // reads what the receiver's graph function reads
	Params         bool     // writes the receiver's parameters
	Lends          bool     // reads the components among its arguments
	One            bool     // the receiver must be one component
	Whole          bool     // rows of the result may depend on other rows
	Host           bool     // the result is a batch's numbers as Go data
	Fills, Empties bool     // a store
	Shape          string   // of the result; empty for that of the arguments
	Shards         string   // what replicas do: own, even, all, or nothing special
	Again          bool     // several may be given one key
	Shows          bool     // returns the memory of a tensor
	Turns          bool     // can be called on a part of the rows at a time

	Counter bool   // the host knows the result at every iteration
	Device  string // what a device program calls instead
	Index   int    // the first argument that may be a device loop's index, or -1
	Indices bool   // and all behind it
	Number  int    // the argument that may be a number of the device's, or -1

	Makes, Registers bool
	NameAt           int // the argument that is the component's name, or -1
	GraphAt          int // likewise its graph function
	ParamsAt         int // likewise the first of its parameters
	ComponentAt      int // the argument that is registered, or traced; the receiver is -1
	Traces, Draws    bool
	Defines, Own     bool
	sizes            [2]int // the arguments from the first to before the second are numbers of rows
}

// Sizes reports whether an argument is a number of rows, of which a replica may
// give its own.
func (w Word) Sizes(i int) bool { return w.sizes[0] <= i && i < w.sizes[1] }

// Component is what a type that has state says of itself, or one of its parts.
type Component struct {
	Name     string // package and name
	Kind     string
	Axis     fdg.Axis
	Home     string
	Copyable bool
	Alone    bool // a loop has one
	Large    bool // too large to be copied into a graph for a call
	Steady   bool // written equally often in every iteration, where a device has it
	Parts    map[string]Component
}

// Copied returns the part of a component that readers elsewhere have copies of:
// itself, which is the empty part, or one of its parts. ok is false if there is
// none.
func (c Component) Copied() (part string, ok bool) {
	if c.Copyable {
		return "", true
	}
	for name, p := range c.Parts {
		if p.Copyable {
			return name, true
		}
	}
	return "", false
}

// Type is what a type of values says of itself.
type Type struct {
	Batch, Gradient, Key, Run, Context, Trainer, Pure bool
	// Keep says what keeps such a batch from one iteration to the next.
	Keep string
}

// Set is a vocabulary.
type Set struct {
	Words      map[string]Word
	Components map[string]Component
	Types      map[string]Type
}

// Read reads the files of packages, by the packages' names as words have them.
func Read(files map[string][]string) (*Set, error) {
	s := &Set{Words: map[string]Word{}, Components: map[string]Component{}, Types: map[string]Type{}}
	fset := token.NewFileSet()
	for _, pkg := range sortedKeys(files) {
		for _, name := range files[pkg] {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			r := &reader{set: s, pkg: pkg, fset: fset}
			if err := r.file(f); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// reader reads one file.
type reader struct {
	set  *Set
	pkg  string
	fset *token.FileSet
	at   token.Pos
}

func (r *reader) bad(format string, args ...any) error {
	p := r.fset.Position(r.at)
	return fmt.Errorf("%s:%d: %s", filepath.Base(p.Filename), p.Line, fmt.Sprintf(format, args...))
}

func (r *reader) file(f *ast.File) error {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if err := r.function(d.Doc, r.name(d)); err != nil {
				return err
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					if err := r.typ(d, t); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// name is a function's as a word.
func (r *reader) name(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return r.pkg + "." + d.Name.Name
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		t = x.X
	case *ast.IndexListExpr:
		t = x.X
	}
	id, _ := t.(*ast.Ident)
	if id == nil {
		return ""
	}
	return r.pkg + "." + id.Name + "." + d.Name.Name
}

// directives are those of a comment, in order.
func (r *reader) directives(doc *ast.CommentGroup) (out []ast.Directive) {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if d, ok := ast.ParseDirective(c.Pos(), c.Text); ok && d.Tool == "weft" {
			out = append(out, d)
		}
	}
	return out
}

func (r *reader) function(doc *ast.CommentGroup, name string) error {
	for _, d := range r.directives(doc) {
		r.at = d.Slash
		w, twice := r.set.Words[name]
		switch {
		case d.Name == "sizes" && (!twice || w.sizes[1] == 0):
			if !twice {
				w = newWord(name)
			}
			if err := r.sizes(&w, d.Args); err != nil {
				return err
			}
		case twice:
			return r.bad("%s says twice what it is", name)
		default:
			var err error
			if w, err = r.word(name, d); err != nil {
				return err
			}
		}
		r.set.Words[name] = w
	}
	return nil
}

// sizes reads which arguments are numbers of rows.
func (r *reader) sizes(w *Word, args string) error {
	first, all := strings.CutSuffix(args, "+")
	at, err := strconv.Atoi(first)
	if err != nil || at < 0 {
		return r.bad("%s: %q is no argument's number", w.Name, args)
	}
	if w.sizes = [2]int{at, at + 1}; all {
		w.sizes[1] = math.MaxInt
	}
	return nil
}

// newWord returns a word that says nothing of itself.
func newWord(name string) Word {
	return Word{Name: name, Index: -1, Number: -1, NameAt: -1, GraphAt: -1, ParamsAt: -1, ComponentAt: -1}
}

func (r *reader) word(name string, d ast.Directive) (w Word, err error) {
	w = newWord(name)
	args := strings.Fields(d.Args)
	switch d.Name {
	case "pure":
		w.Use = Pure
	case "moves":
		w.Use = Moves
	case "next":
		w.Use = Next
	case "refuse":
		w.Use, w.Instead = Refused, d.Args
		if w.Instead == "" {
			return w, r.bad("%s is refused without saying what to write instead", name)
		}
		return w, nil
	case "draws":
		w.Draws = true
	case "traces":
		w.Use, w.Traces, w.Instead = Refused, true, "use it in a graph function"
	case "makes":
		w.Makes = true
	case "defines":
		w.Defines = true
	case "own":
		w.Own = true
	case "registers":
		w.Registers = true
	case "op":
		if len(args) == 0 {
			return w, r.bad("an operation has a kind, as in //weft:op sample")
		}
		w.Use, w.Kind, args = Operation, fdg.Kind(args[0]), args[1:]
	default:
		return w, r.bad("//weft:%s says nothing about a function", d.Name)
	}
	for _, a := range args {
		if err := r.attribute(&w, a); err != nil {
			return w, err
		}
	}
	return w, nil
}

// flags are the attributes without a value.
func (w *Word) flags() map[string]*bool {
	return map[string]*bool{
		"reads": &w.Reads, "writes": &w.Writes, "graph": &w.Graph, "params": &w.Params, "lends": &w.Lends, "one": &w.One, "whole": &w.Whole,
		"host": &w.Host, "fills": &w.Fills, "empties": &w.Empties, "counter": &w.Counter, "replaces": &w.Replaces, "again": &w.Again,
		"shows": &w.Shows, "turns": &w.Turns,
	}
}

func (r *reader) attribute(w *Word, a string) (err error) {
	key, value, has := strings.Cut(a, "=")
	if flag, ok := w.flags()[key]; ok && !has {
		*flag = true
		return nil
	}
	number := func(to *int) {
		*to, err = strconv.Atoi(value)
	}
	switch key {
	case "state":
		w.State = strings.Split(value, ",")
	case "shape":
		w.Shape = value
	case "shards":
		w.Shards = value
	case "device":
		w.Device = value
	case "index":
		value, w.Indices = strings.CutSuffix(value, "+")
		number(&w.Index)
	case "number":
		number(&w.Number)
	case "name":
		number(&w.NameAt)
	case "function":
		number(&w.GraphAt)
	case "parameters":
		number(&w.ParamsAt)
	case "component":
		number(&w.ComponentAt)
	default:
		return r.bad("%s has no attribute %q", w.Name, a)
	}
	if err != nil || !has {
		return r.bad("%s: %q is not understood", w.Name, a)
	}
	return nil
}

func (r *reader) typ(d *ast.GenDecl, t *ast.TypeSpec) error {
	name := r.pkg + "." + t.Name.Name
	doc := t.Doc
	if doc == nil && len(d.Specs) == 1 {
		doc = d.Doc
	}
	for _, x := range r.directives(doc) {
		r.at = x.Slash
		if err := r.about(name, x); err != nil {
			return err
		}
	}
	methods, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	for _, m := range methods.Methods.List {
		for _, id := range m.Names {
			if err := r.function(m.Doc, name+"."+id.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// about reads a directive above a type.
func (r *reader) about(name string, d ast.Directive) error {
	args := strings.Fields(d.Args)
	v := r.set.Types[name]
	switch d.Name {
	case "component":
		c, err := r.component(name, args)
		if err != nil {
			return err
		}
		c.Parts = map[string]Component{}
		r.set.Components[name] = c
		return nil
	case "part":
		whole, ok := r.set.Components[name]
		if !ok || len(args) < 2 {
			return r.bad("a part has a name and a kind, and stands below //weft:component")
		}
		c, err := r.component(name, args[1:])
		whole.Parts[args[0]] = c
		return err
	case "batch":
		v.Batch, v.Keep = true, d.Args
	case "gradient":
		v.Batch, v.Gradient = true, true
	case "key":
		v.Key = true
	case "run":
		v.Run = true
	case "context":
		v.Context = true
	case "trainer":
		v.Trainer = true
	case "pure":
		v.Pure = true
	case "op", "rows", "fragment", "axis", "train":
		return r.bad("//weft:%s stands above the type %s, about which it says nothing", d.Name, name)
	default:
		return r.bad("//weft:%s says nothing about a type", d.Name)
	}
	r.set.Types[name] = v
	return nil
}

func (r *reader) component(name string, args []string) (c Component, err error) {
	if len(args) == 0 {
		return c, r.bad("a component has a kind, as in //weft:component table")
	}
	c = Component{Name: name, Kind: args[0], Axis: fdg.None}
	for _, a := range args[1:] {
		key, value, _ := strings.Cut(a, "=")
		switch key {
		case "axis":
			c.Axis = fdg.Axis(value)
		case "home":
			c.Home = value
		case "copyable":
			c.Copyable = true
		case "alone":
			c.Alone = true
		case "large":
			c.Large = true
		case "steady":
			c.Steady = true
		default:
			return c, r.bad("%s has no attribute %q", name, a)
		}
	}
	return c, nil
}
