package config

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// ParseYAML turns a YAML document into assignments: nested maps into dotted keys,
// sequences into comma lists, each with the source "source:line". Everything
// wrong is reported at once, as [Errors]; the assignments that are right are
// returned all the same, so that a caller can have Set name what is wrong with
// their values.
func ParseYAML(data []byte, source string) ([]Assignment, error) {
	r := yamlReader{source: source, seen: map[string]int{}, open: map[*yaml.Node]bool{}}
	root, err := decode(data)
	if err != nil {
		line, text := locate(err, data)
		r.problems.addf(r.at(line), "", "%s", text)
		return nil, r.problems
	}
	if root != nil {
		r.root(root)
	}
	return r.out, r.problems.orNil()
}

// maxNodes bounds what aliases of aliases can unfold into.
const maxNodes = 100_000

type yamlReader struct {
	source   string
	out      []Assignment
	problems Errors
	seen     map[string]int      // the line of each key
	open     map[*yaml.Node]bool // the maps being read, in which an alias must not end up again
	nodes    int
}

func (r *yamlReader) at(line int) string {
	if r.source == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s:%d", r.source, line)
}

func (r *yamlReader) root(node *yaml.Node) {
	switch {
	case node.ShortTag() == "!!null":
	case node.Kind != yaml.MappingNode:
		r.problems.addf(r.at(node.Line), "", "the file must be a map of settings, one key: value to a line")
	default:
		r.mapping(node, "")
	}
}

func (r *yamlReader) mapping(node *yaml.Node, prefix string) {
	r.open[node] = true
	defer delete(r.open, node)
	for i := 0; i+1 < len(node.Content) && r.nodes <= maxNodes; i += 2 {
		r.entry(node.Content[i], node.Content[i+1], prefix)
	}
}

// entry reads one key and its value.
func (r *yamlReader) entry(key, value *yaml.Node, prefix string) {
	at := r.at(key.Line)
	name, err := keyText(resolve(key))
	if err != nil {
		r.problems.addf(at, "", "%w", err)
		return
	}
	path := under(prefix, name)
	if first, again := r.seen[path]; again {
		r.problems.addTwice(path, at, r.at(first))
		return
	}
	r.seen[path] = key.Line
	if err := r.value(path, at, resolve(value)); err != nil {
		r.problems.addf(at, path, "%s: %w", path, err)
	}
}

func keyText(key *yaml.Node) (string, error) {
	switch tag := key.ShortTag(); {
	case key.Kind != yaml.ScalarNode:
		return "", errors.New("a key must be a name, not a map or a list")
	case tag == "!!null":
		return "", errors.New("a key is missing before the colon")
	case tag == "!!merge":
		return "", errors.New("merging maps with << is not supported; write the settings out")
	}
	return key.Value, nil
}

// value records what path is set to.
func (r *yamlReader) value(path, at string, node *yaml.Node) error {
	if r.nodes++; r.nodes > maxNodes {
		return fmt.Errorf("the file unfolds into more than %d values; use fewer aliases", maxNodes)
	}
	var text string
	var err error
	switch node.Kind {
	case yaml.MappingNode:
		return r.inner(path, node)
	case yaml.SequenceNode:
		text, err = r.sequence(node)
	default:
		text, err = scalar(node)
	}
	if err == nil {
		r.out = append(r.out, Assignment{path, text, at, node.Kind == yaml.SequenceNode})
	}
	return err
}

// inner reads the map of a group.
func (r *yamlReader) inner(path string, node *yaml.Node) error {
	switch {
	case r.open[node]:
		return fmt.Errorf("anchor &%s contains itself", node.Anchor)
	case node.ShortTag() != "!!map":
		return badTag(node)
	case len(node.Content) == 0:
		return errNoValue
	}
	r.mapping(node, path)
	return nil
}

func (r *yamlReader) sequence(node *yaml.Node) (string, error) {
	if node.ShortTag() != "!!seq" {
		return "", badTag(node)
	}
	r.nodes += len(node.Content)
	items := make([]string, len(node.Content))
	for i, item := range node.Content {
		var err error
		if items[i], err = scalar(resolve(item)); err != nil {
			return "", fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return joinList(items), nil
}

var errNoValue = errors.New(`has no value; give it one ("" for empty text) or take the line out`)

func scalar(node *yaml.Node) (string, error) {
	if node.Kind != yaml.ScalarNode {
		return "", errors.New("must be a single value, not a map or a list")
	}
	switch node.ShortTag() {
	case "!!null":
		return "", errNoValue
	case "!!str", "!!int", "!!float", "!!bool", "!!timestamp", "!!merge":
		return node.Value, nil
	}
	return "", badTag(node)
}

func badTag(node *yaml.Node) error {
	return fmt.Errorf("tag %s is not supported; leave it out", node.ShortTag())
}

// resolve follows an alias to what it stands for.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
