package analyze

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// builder collects a graph while the loop is read.
type builder struct {
	fset      *token.FileSet
	nodes     []fdg.Node
	extra     []extra
	regions   []fdg.Region
	edges     map[edgeKey]fdg.Edge
	keys      map[nodeKey]int
	opened    map[[2]int]int
	resources []fdg.Resource
	owners    []*object // of the resources
	resource  map[place]int
	sites     map[ast.Expr]int
	made      []*tree.Loop // the loops over run.Next that sites stand in
}

// extra holds facts about a node that the graph does not have.
type extra struct {
	pos    token.Pos
	calls  []token.Pos
	pin    string // the fragment that a directive names
	loops  []int
	result types.Type // a tuple if there are several
	names  []string   // of several results
	taint  bool       // Go data out of a batch
	helper bool       // an author's function whose rows are not known to be independent
	shape  string     // declared, empty for that of its inputs
	axis   fdg.Axis   // declared
	filled bool       // something was inserted before this drain
	family bool       // a loop over the members of a family
	draws  bool       // a graph function that draws random numbers
}

type edgeKey struct {
	kind         fdg.Dependence
	from, to     int
	part, into   string
	resource, by int
}

func newBuilder(fset *token.FileSet) *builder {
	return &builder{
		fset: fset, edges: map[edgeKey]fdg.Edge{}, keys: map[nodeKey]int{}, opened: map[[2]int]int{}, resource: map[place]int{},
		sites: map[ast.Expr]int{}, regions: []fdg.Region{{Node: -1, Nodes: []int{}}},
	}
}

func (b *builder) pos(p token.Pos) fdg.Pos {
	at := b.fset.Position(p)
	return fdg.Pos{File: filepath.Base(at.Filename), Line: at.Line, Col: at.Column}
}

func (b *builder) node(key nodeKey, n fdg.Node, region int) (id int, isNew bool) {
	if id, ok := b.keys[key]; ok {
		return id, false
	}
	id = len(b.nodes)
	n.ID, n.Region = id, region
	b.keys[key] = id
	b.nodes, b.extra = append(b.nodes, n), append(b.extra, extra{})
	b.regions[region].Nodes = append(b.regions[region].Nodes, id)
	return id, true
}

// open returns region i of a node.
func (b *builder) open(node, i int, label string) int {
	key := [2]int{node, i}
	if id, ok := b.opened[key]; ok {
		return id
	}
	id := len(b.regions)
	b.opened[key] = id
	b.regions = append(b.regions, fdg.Region{ID: id, Node: node, Label: label, Nodes: []int{}})
	b.nodes[node].Opens = append(b.nodes[node].Opens, id)
	return id
}

func (b *builder) edge(e fdg.Edge) {
	b.edges[edgeKey{e.Kind, e.From, e.To, e.Part, e.Into, e.Resource, e.Carried}] = e
}

// site returns the number of an expression that makes memory, or a key, in a loop
// over run.Next.
func (b *builder) site(e ast.Expr, next *tree.Loop) int {
	id, ok := b.sites[e]
	if !ok {
		id = len(b.sites)
		b.sites[e] = id
		b.made = append(b.made, next)
	}
	return id
}

// spread returns a value's uses, field by field where some fields of a result were
// replaced by others.
func (b *builder) spread(v *value, into string) (out []use) {
	if v == nil {
		return nil
	}
	for _, d := range v.defs {
		fields := tree.StructFields(b.partType(d))
		if len(v.fields) == 0 || fields == nil {
			out = append(out, use{d, into})
			continue
		}
		for _, f := range fields {
			if _, replaced := v.fields[f.Name()]; !replaced {
				out = append(out, use{def{d.node, under(d.part, f.Name()), d.carried}, under(into, f.Name())})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.fields)) {
		out = append(out, b.spread(v.fields[name], under(into, name))...)
	}
	return out
}

// under returns a field's name behind a path.
func under(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// uses adds a resource to what a node reads or writes.
func uses(list []int, r int) []int {
	for i, old := range list {
		if old == r {
			return list
		}
		if old > r {
			return append(list[:i:i], append([]int{r}, list[i:]...)...)
		}
	}
	return append(list, r)
}
