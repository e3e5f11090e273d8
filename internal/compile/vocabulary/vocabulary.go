// Package vocabulary reads what the words of the vocabulary say of themselves:
// the //weft: directives above the declarations of packages rl, env, replay, data,
// nn, search, league and algo. The compiler knows no word by its name.
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
//
// and beside one of these
//
//	//weft:own                    its result differs from replica to replica
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
//	rows              a row of the result depends on the same row of its arguments alone
//	whole             a row of the result may depend on other rows
//	host              the result is a batch's numbers as Go data
//	fills, empties    of a store: puts rows in, takes all of them out
//	shape=SHAPE       of the result, if not that of the arguments: env, time, rows, one
//	shards=HOW        what replicas do that have some of the rows: own (it finds
//	                  theirs itself), even (each takes an even share of the result)
//	                  or all (each does all of it)
//	device=NAME       what a device program calls in its place, edge.NAME for a function of
//	                  package edge on the receiver; - for its argument
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
// and above a field of a struct //weft:own may stand.
//
// Components and their parts have axis=AXIS, home=FRAGMENT and copyable; alone is
// for a component of which a loop has one, large for one that is not copied into a
// graph for a call, steady for one that a device writes equally often in every
// iteration.
package vocabulary

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// Use is a purpose of a word.
type Use int

const (
	Unknown   Use = iota // it says nothing, so it has no place in a loop
	Operation            // a node of the graph
	Pure                 // the same everywhere
	Moves                // only its arguments
	Refused
	Next
)

// uses are the directives above functions that say what a word is for in a loop.
var uses = map[string]Use{"op": Operation, "pure": Pure, "moves": Moves, "refuse": Refused, "traces": Refused, "next": Next}

// Word holds what a function or method says of itself: by a directive, the verb, and
// its attributes.
type Word struct {
	Name    string // package, receiver and name, as in rl.Func.Call
	Use     Use
	Kind    fdg.Kind // of an operation
	Instead string   // of a refused word: what to write
	Returns bool     // the function has results
	at      string   // where the directive stands

	Reads    bool     `attribute:"reads"` // the state of the receiver
	Writes   bool     `attribute:"writes"`
	Replaces bool     `attribute:"replaces"` // all of that state
	State    []string `attribute:"state"`    // parts of it besides
	Graph    bool     `attribute:"graph"`    // reads what the receiver's graph function reads
	Params   bool     `attribute:"params"`   // writes the receiver's parameters
	Lends    bool     `attribute:"lends"`    // reads the components among its arguments
	One      bool     `attribute:"one"`      // the receiver must be one component
	Rows     bool     `attribute:"rows"`     // rows of the result depend on the same rows of the arguments
	Whole    bool     `attribute:"whole"`    // rows of the result may depend on other rows
	Host     bool     `attribute:"host"`     // the result is a batch's numbers as Go data
	Fills    bool     `attribute:"fills"`    // a store
	Empties  bool     `attribute:"empties"`
	Shape    string   `attribute:"shape"`  // of the result; empty for that of the arguments
	Shards   string   `attribute:"shards"` // what replicas do: own, even, all, or nothing special
	Again    bool     `attribute:"again"`  // several may be given one key
	Shows    bool     `attribute:"shows"`  // returns the memory of a tensor
	Turns    bool     `attribute:"turns"`  // can be called on a part of the rows at a time

	Counter bool   `attribute:"counter"` // the host knows the result at every iteration
	Device  string `attribute:"device"`  // what a device program calls instead
	Index   int    `attribute:"index"`   // the first argument that may be a device loop's index, or -1
	Indices bool   `attribute:"index+"`  // and all behind it
	Number  int    `attribute:"number"`  // the argument that may be a number of the device's, or -1

	Makes       bool `verb:"makes"`
	Registers   bool `verb:"registers"`
	NameAt      int  `attribute:"name"`       // the argument that is the component's name, or -1
	GraphAt     int  `attribute:"function"`   // likewise its graph function
	ParamsAt    int  `attribute:"parameters"` // likewise the first of its parameters
	ComponentAt int  `attribute:"component"`  // the argument that is registered, or traced; the receiver is -1
	Traces      bool `verb:"traces"`
	Draws       bool `verb:"draws"`
	Defines     bool `verb:"defines"`
	Own         bool `verb:"own"`
	SizeAt      int  `attribute:"sizes"`  // the first argument that is a number of rows, or -1
	AllSizes    bool `attribute:"sizes+"` // and all behind it
}

// Silent returns a word that says nothing of itself.
func Silent(name string) Word {
	return Word{Name: name, Index: -1, Number: -1, NameAt: -1, GraphAt: -1, ParamsAt: -1, ComponentAt: -1, SizeAt: -1}
}

// Sizes reports whether an argument is a number of rows, of which a replica may
// give its own.
func (w Word) Sizes(i int) bool {
	return w.SizeAt >= 0 && (i == w.SizeAt || w.AllSizes && i > w.SizeAt)
}

// Component describes a type that has state, or one of its parts.
type Component struct {
	Name     string // package and name
	Kind     string
	Axis     fdg.Axis `attribute:"axis"`
	Home     string   `attribute:"home"`
	Copyable bool     `attribute:"copyable"`
	at       string
	Alone    bool `attribute:"alone"`  // a loop has one
	Large    bool `attribute:"large"`  // too large to be copied into a graph for a call
	Steady   bool `attribute:"steady"` // written equally often in every iteration, where a device has it
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

// Type describes a type of values.
type Type struct {
	Batch    bool `verb:"batch"`
	Gradient bool `verb:"gradient"`
	Key      bool `verb:"key"`
	Run      bool `verb:"run"`
	Context  bool `verb:"context"`
	Trainer  bool `verb:"trainer"`
	Pure     bool `verb:"pure"`
	// Keep says what keeps such a batch from one iteration to the next.
	Keep string
}

// Set is a vocabulary.
type Set struct {
	Words      map[string]Word
	Components map[string]Component
	Types      map[string]Type
	// Own are the fields, each with its package and type, that differ from replica to replica.
	Own []string
}

// Read reads the files of packages, by the packages' names as words have them.
func Read(files map[string][]string) (*Set, error) {
	s := &Set{Words: map[string]Word{}, Components: map[string]Component{}, Types: map[string]Type{}}
	fset := token.NewFileSet()
	for _, pkg := range slices.Sorted(maps.Keys(files)) {
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
	return s, s.check()
}

// reader reads one file.
type reader struct {
	set  *Set
	pkg  string
	fset *token.FileSet
}

func (r *reader) file(f *ast.File) error {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if err := r.function(d.Doc, r.name(d), d.Type); err != nil {
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

// name returns a function's as a word.
func (r *reader) name(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return r.pkg + "." + d.Name.Name
	}
	of := strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*")
	of, _, _ = strings.Cut(of, "[")
	return r.pkg + "." + of + "." + d.Name.Name
}

// directives reads those of a comment, in order.
func (r *reader) directives(doc *ast.CommentGroup, name string, read func(name string, d ast.Directive) error) error {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		d, ok := ast.ParseDirective(c.Pos(), c.Text)
		if !ok || d.Tool != "weft" {
			continue
		}
		if err := read(name, d); err != nil {
			return fmt.Errorf("%s: %w", r.where(d), err)
		}
	}
	return nil
}

// where returns the file and line of a directive.
func (r *reader) where(d ast.Directive) string {
	p := r.fset.Position(d.Slash)
	return fmt.Sprintf("%s:%d", filepath.Base(p.Filename), p.Line)
}

// function reads the directives above a function or method.
func (r *reader) function(doc *ast.CommentGroup, name string, t *ast.FuncType) error {
	err := r.directives(doc, name, r.word)
	if w, ok := r.set.Words[name]; ok {
		w.Returns = t.Results.NumFields() > 0
		r.set.Words[name] = w
	}
	return err
}

// word reads a directive above a function.
func (r *reader) word(name string, d ast.Directive) error {
	w := Silent(name)
	w.Use, w.at = uses[d.Name], r.where(d)
	args := strings.Fields(d.Args)
	verb, _ := set(&w, "verb", d.Name, "")
	old, twice := r.set.Words[name]
	if d.Name == "own" && !old.Own || d.Name == "sizes" && (!twice || old.SizeAt < 0) {
		return r.beside(name, d)
	}
	switch {
	case twice:
		return fmt.Errorf("%s says twice what it is", name)
	case w.Use == Unknown && !verb:
		return fmt.Errorf("//weft:%s says nothing about a function", d.Name)
	case d.Name == "op" && len(args) == 0:
		return errors.New("an operation has a kind, as in //weft:op sample")
	case d.Name == "refuse" && len(args) == 0:
		return fmt.Errorf("%s is refused without saying what to write instead", name)
	}
	switch d.Name {
	case "op":
		w.Kind, args = fdg.Kind(args[0]), args[1:]
	case "refuse":
		w.Instead, args = d.Args, nil
	case "traces":
		w.Instead = "use it in a graph function"
	}
	err := attributes(&w, name, args)
	r.set.Words[name] = w
	return err
}

// beside reads a directive that may stand beside another one.
func (r *reader) beside(name string, d ast.Directive) (err error) {
	w, ok := r.set.Words[name]
	if !ok {
		w = Silent(name)
	}
	if w.Own = w.Own || d.Name == "own"; d.Name == "sizes" {
		err = attributes(&w, name, []string{"sizes=" + d.Args})
	}
	r.set.Words[name] = w
	return err
}

// attributes reads what follows a verb.
func attributes(to any, name string, list []string) error {
	for _, a := range list {
		key, value, _ := strings.Cut(a, "=")
		value, more := strings.CutSuffix(value, "+")
		known, err := set(to, "attribute", key, value)
		if more && err == nil {
			known, err = set(to, "attribute", key+"+", "")
		}
		if !known {
			return fmt.Errorf("%s has no attribute %q", name, a)
		}
		if err != nil {
			return fmt.Errorf("%s: %q is not understood", name, a)
		}
	}
	return nil
}

// set gives the field of a struct that has key in a tag its value; a bool is true
// and has none. known is false if there is no such field.
func set(to any, tag, key, value string) (known bool, err error) {
	v := reflect.ValueOf(to).Elem()
	for i := range v.NumField() {
		if key == "" || v.Type().Field(i).Tag.Get(tag) != key {
			continue
		}
		f := v.Field(i)
		if (f.Kind() == reflect.Bool) != (value == "") {
			return true, strconv.ErrSyntax
		}
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int:
			var n int
			n, err = strconv.Atoi(value)
			f.SetInt(int64(n))
		case reflect.String:
			f.SetString(value)
		case reflect.Slice:
			f.Set(reflect.ValueOf(strings.Split(value, ",")))
		}
		return true, err
	}
	return false, nil
}

func (r *reader) typ(d *ast.GenDecl, t *ast.TypeSpec) error {
	name := r.pkg + "." + t.Name.Name
	doc := t.Doc
	if doc == nil && len(d.Specs) == 1 {
		doc = d.Doc
	}
	errs := []error{r.directives(doc, name, r.about)}
	var members []*ast.Field
	switch t := t.Type.(type) {
	case *ast.InterfaceType:
		members = t.Methods.List
	case *ast.StructType:
		members = t.Fields.List
	}
	for _, m := range members {
		for _, id := range m.Names {
			if f, method := m.Type.(*ast.FuncType); method {
				errs = append(errs, r.function(m.Doc, name+"."+id.Name, f))
			} else {
				errs = append(errs, r.directives(m.Doc, name+"."+id.Name, r.field))
			}
		}
	}
	return errors.Join(errs...)
}

// field reads a directive above a field of a struct.
func (r *reader) field(name string, d ast.Directive) error {
	if d.Name != "own" {
		return fmt.Errorf("//weft:%s says nothing about a field", d.Name)
	}
	r.set.Own = append(r.set.Own, name)
	return nil
}

// about reads a directive above a type.
func (r *reader) about(name string, d ast.Directive) error {
	args := strings.Fields(d.Args)
	switch d.Name {
	case "component":
		c, err := component(name, args)
		c.Parts, c.at = map[string]Component{}, r.where(d)
		r.set.Components[name] = c
		return err
	case "part":
		whole, ok := r.set.Components[name]
		if !ok || len(args) < 2 {
			return errors.New("a part has a name and a kind, and stands below //weft:component")
		}
		c, err := component(name, args[1:])
		c.at = r.where(d)
		whole.Parts[args[0]] = c
		return err
	}
	v := r.set.Types[name]
	if known, _ := set(&v, "verb", d.Name, ""); !known {
		return fmt.Errorf("//weft:%s says nothing about a type", d.Name)
	}
	if v.Batch = v.Batch || v.Gradient; d.Name == "batch" {
		v.Keep = d.Args
	}
	r.set.Types[name] = v
	return nil
}

func component(name string, args []string) (c Component, err error) {
	if len(args) == 0 {
		return c, errors.New("a component has a kind, as in //weft:component table")
	}
	c = Component{Name: name, Kind: args[0]}
	return c, attributes(&c, name, args[1:])
}
