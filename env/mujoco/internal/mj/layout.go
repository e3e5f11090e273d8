package mj

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

//go:generate go run ./layouts layouts.tsv

//go:embed layouts.tsv
var layoutTable string

// layout is where the fields of mjModel and mjData are in one version, by their
// names. Those that the version lacks are not in it.
type layout map[string]uintptr

// layouts are the versions of the table, in its order, and their layouts.
var layouts = sync.OnceValues(func() ([]string, map[string]layout) {
	versions, all, err := parseLayouts(layoutTable)
	if err != nil {
		panic(err) // a test reads it
	}
	return versions, all
})

func parseLayouts(table string) (versions []string, all map[string]layout, err error) {
	all = map[string]layout{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case cells[0] == "field":
			versions = cells[1:]
			for _, v := range versions {
				all[v] = layout{}
			}
		case len(cells) != len(versions)+1:
			return nil, nil, fmt.Errorf("layouts.tsv: %s has %d numbers for %d versions", cells[0], len(cells)-1, len(versions))
		default:
			for i, v := range versions {
				if cells[i+1] == "-" {
					continue
				}
				at, err := strconv.ParseUint(cells[i+1], 10, 31)
				if err != nil {
					return nil, nil, fmt.Errorf("layouts.tsv: %s of %s: %w", cells[0], v, err)
				}
				all[v][cells[0]] = uintptr(at)
			}
		}
	}
	return versions, all, nil
}

// object is an mjModel or mjData.
type object struct {
	kind   string
	at     uintptr
	layout layout
}

func (o object) address(name string) unsafe.Pointer {
	return pointer(o.at + o.layout[o.kind+"."+name])
}

// count returns a number of things. It is read as 32 bits, which are the low ones where
// a version has 64: Go's machines that MuJoCo runs on are little-endian.
func (o object) count(name string) int { return int(*(*int32)(o.address(name))) }

// number returns a field that is a number itself.
func (o object) number(name string) *float64 { return (*float64)(o.address(name)) }

func (o object) array(name string) uintptr { return *(*uintptr)(o.address(name)) }

// array is how a field that is an array is measured.
type array struct {
	per  string // count of the model that gives the number of elements
	each int    // elements for one of them
	size int    // bytes of an element
}

var modelArrays = map[string]array{
	"qpos0":              {"nq", 1, 8},
	"body_mass":          {"nbody", 1, 8},
	"actuator_ctrlrange": {"nu", 2, 8},
	"geom_type":          {"ngeom", 1, 4},
	"geom_group":         {"ngeom", 1, 4},
	"geom_matid":         {"ngeom", 1, 4},
	"geom_size":          {"ngeom", 3, 8},
	"geom_rgba":          {"ngeom", 4, 4},
	"mat_rgba":           {"nmat", 4, 4},
}

// stateArrays are the parts of a state after its time, in their order.
var stateArrays = []string{"qpos", "qvel", "act", "qacc_warmstart", "ctrl"}

var dataArrays = map[string]array{
	"qpos":            {"nq", 1, 8},
	"qvel":            {"nv", 1, 8},
	"act":             {"na", 1, 8},
	"qacc_warmstart":  {"nv", 1, 8},
	"ctrl":            {"nu", 1, 8},
	"qacc":            {"nv", 1, 8},
	"xpos":            {"nbody", 3, 8},
	"xipos":           {"nbody", 3, 8},
	"geom_xpos":       {"ngeom", 3, 8},
	"geom_xmat":       {"ngeom", 9, 8},
	"site_xpos":       {"nsite", 3, 8},
	"cinert":          {"nbody", 10, 8},
	"cvel":            {"nbody", 6, 8},
	"qfrc_actuator":   {"nv", 1, 8},
	"qfrc_constraint": {"nv", 1, 8},
	"cfrc_ext":        {"nbody", 6, 8},
}

// check reports whether an object can be what the layout says: every array lies within
// the object's buffer, and no two overlap. A layout of another version fails here.
func (o object) check(arrays map[string]array, model object) error {
	type extent struct {
		lo, hi uintptr
		name   string
	}
	all := []extent{}
	lo := o.array("buffer")
	hi := lo + uintptr(o.count("nbuffer"))
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		a := arrays[name]
		n := model.count(a.per)
		if n < 0 || uintptr(n) > hi-lo {
			return fmt.Errorf("%s of mjModel is %d", a.per, n)
		}
		at := o.array(name)
		all = append(all, extent{at, at + uintptr(n*a.each*a.size), name})
	}
	slices.SortFunc(all, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi), cmp.Compare(a.name, b.name))
	})
	for _, x := range all {
		if x.lo < lo || x.hi > hi || x.hi < x.lo {
			return fmt.Errorf("%s.%s is not where it should be", o.kind, x.name)
		}
		lo = x.hi
	}
	return nil
}

// floats returns the memory of an array of numbers.
func (o object) floats(name string, arrays map[string]array, model object) []float64 {
	a, ok := arrays[name]
	if !ok || a.size != 8 {
		return nil
	}
	return unsafe.Slice((*float64)(pointer(o.array(name))), model.count(a.per)*a.each)
}

// unkept are states that versions have beyond what is kept here.
var unkept = []struct{ count, what string }{{"npluginstate", "plugins"}, {"nhistory", "delays"}}

// checkState refuses a model whose states would be kept in part only.
func (o object) checkState() error {
	for _, x := range unkept {
		if _, ok := o.layout[o.kind+"."+x.count]; ok && o.count(x.count) > 0 {
			return errors.New("it has " + x.what + ", whose state is only kept with MuJoCo 4: " + Install)
		}
	}
	return nil
}
