package adversary

import (
	"fmt"
	"slices"
)

// class is a kind of mistake that a compiler of loops makes, by its number in the
// list that the generator was written from.
type class int

const (
	usual    class = 0  // nothing special: loops that any author writes
	returns  class = 1  // return inside an inner branch of a function that is read through
	tuples   class = 2  // assignments of several variables at once
	memory   class = 3  // slices and arrays that share memory
	crossing class = 4  // buffers that their owner reuses
	settings class = 5  // components that a constructor or a graph function chooses by a setting
	hidden   class = 6  // effects hidden in helpers
	keys     class = 7  // keys that are not the run's
	replicas class = 8  // values that differ between replicas
	second   class = 9  // a second environment
	exits    class = 10 // return in a branch; a role that reads another role
	around   class = 11 // statements around the loop; break
	aside    class = 12 // components that are not registered
	crashes  class = 13 // loops that ended in a crash
	refused  class = 14 // loops that were refused though fine
	// undeclared are types and operations that do not say what they do with rows or state.
	undeclared class = 15
)

var classNames = map[class]string{
	usual: "ordinary", returns: "returns in branches", tuples: "tuple assignments", memory: "shared memory",
	crossing: "reused buffers", settings: "chosen by a setting", hidden: "hidden effects", keys: "keys not the run's",
	replicas: "differs by replica", second: "second environment", exits: "exits and roles", around: "around the loop",
	aside: "not registered", crashes: "crashes", refused: "refused though fine", undeclared: "left open",
}

func (c class) String() string { return fmt.Sprintf("%d %s", int(c), classNames[c]) }

// feature adds one thing to a loop.
type feature struct {
	name   string
	class  class
	slot   string  // names of what it occupies: of two features that share one a loop has one
	styles []style // that it fits; empty is all but roles
	add    func(g *grower)
}

func (f feature) fits(s style) bool {
	if len(f.styles) == 0 {
		return s != roles
	}
	return slices.Contains(f.styles, s)
}

var (
	onRollout = []style{rollout, minibatch}
	anyStyle  = []style{rollout, minibatch, table, roles}
	onRoles   = []style{roles}
)

// features lists all of them.
var features = slices.Concat(ordinary, storeFeatures, returnFeatures, tupleFeatures, memoryFeatures, settingFeatures, hiddenFeatures, keyFeatures,
	replicaFeatures, exitFeatures, crashFeatures, refusedFeatures, undeclaredFeatures)

// byClass holds the features of every class.
var byClass = func() (out [undeclared + 1][]feature) {
	for _, f := range features {
		out[f.class] = append(out[f.class], f)
	}
	return out
}()

// named returns features by name, in order.
func named(names []string) (out []feature) {
	for _, name := range names {
		i := slices.IndexFunc(features, func(f feature) bool { return f.name == name })
		if i < 0 {
			panic(fmt.Sprintf("there is no feature %q", name))
		}
		out = append(out, features[i])
	}
	return out
}
