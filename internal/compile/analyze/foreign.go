package analyze

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// pure are the foreign packages, with those of their functions, if not all, that
// only compute on their arguments. Methods with pointers are not among them.
var pure = map[string][]string{
	"math": nil, "math/bits": nil, "math/cmplx": nil, "strings": nil, "strconv": nil, "cmp": nil, "unicode": nil, "unicode/utf8": nil,
	"errors": {"New", "Is", "Join", "Unwrap"},
	"fmt":    {"Sprint", "Sprintf", "Sprintln", "Errorf"},
	"slices": {
		"Clone", "Concat", "Contains", "ContainsFunc", "Equal", "Index", "IndexFunc", "IsSorted", "Max", "Min", "MaxFunc", "MinFunc", "Repeat", "BinarySearch", "Compare",
		"Sort", "SortFunc", "SortStableFunc", "Reverse",
	},
	"sort": {"Ints", "Float64s", "Strings", "SearchInts", "SearchFloat64s", "SearchStrings", "IntsAreSorted", "Float64sAreSorted", "StringsAreSorted"},
}

// filling are the foreign functions that write memory which they are given, with
// the arguments that they write; -1 is the receiver.
var filling = map[string][]int{
	"slices.Sort": {0}, "slices.SortFunc": {0}, "slices.SortStableFunc": {0}, "slices.Reverse": {0},
	"sort.Ints": {0}, "sort.Float64s": {0}, "sort.Strings": {0},
	"(*strings.Builder).WriteString": {-1}, "(*strings.Builder).WriteByte": {-1}, "(*strings.Builder).WriteRune": {-1},
	"(*strings.Builder).Write": {-1}, "(*strings.Builder).Reset": {-1}, "(*strings.Builder).Grow": {-1},
}

// looking are the methods with pointers that change nothing.
var looking = map[string]bool{"(*strings.Builder).String": true, "(*strings.Builder).Len": true, "(*strings.Builder).Cap": true}

// clones are the functions whose result has memory of its own.
var clones = map[string]bool{"slices.Clone": true, "slices.Concat": true, "slices.Repeat": true, "strings.Split": true, "strings.Fields": true}

// hidden are the packages whose results differ from run to run, with what to use
// in their place.
var hidden = map[string]string{
	"time":         "use the run's counters: run.Iter, run.Steps, run.Progress",
	"math/rand":    "draw by a key: run.Key and the draws of a graph function",
	"math/rand/v2": "draw by a key: run.Key and the draws of a graph function",
	"crypto/rand":  "draw by a key: run.Key and the draws of a graph function",
	"os":           "make it a setting, read before the run",
	"runtime":      "leave threads and memory to the runner",
	"reflect":      "use the types themselves",
	"unsafe":       "use the types themselves",
	"sync":         "leave concurrency to the policy",
	"sync/atomic":  "leave concurrency to the policy",
}

// impure says why a foreign function may not be called in a loop, if it may not.
func impure(fn *types.Func) refusal {
	if fn.Pkg() == nil {
		return refusal{} // the error interface
	}
	path, name, recv := fn.Pkg().Path(), fn.FullName(), fn.Signature().Recv()
	list, ok := pure[path]
	switch instead := hidden[path]; {
	case instead != "":
		return refusal{"foreign", fmt.Sprintf("%s.%s is a hidden input or effect: a run would not be repeatable", path, fn.Name()), instead}
	case !ok:
		return refusal{"foreign", fmt.Sprintf("package %s is not known to compute only", path), "call it in the constructor, or compute in a graph function"}
	case filling[name] != nil || looking[name]:
	case recv != nil && (tree.IsPointer(recv.Type()) || types.IsInterface(recv.Type())):
		return refusal{"foreign", fmt.Sprintf("%s may change what it is called on", name), "compute with functions, or in a method of your own"}
	case recv == nil && list != nil && !slices.Contains(list, fn.Name()):
		return refusal{"foreign", fmt.Sprintf("%s.%s has an effect beyond its result", path, fn.Name()), "return values instead, and log with run.Log"}
	}
	return refusal{}
}
