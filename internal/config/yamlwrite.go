package config

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// YAML writes all the settings of the struct that ptr points to, in the order of
// their declaration, each below a comment that says what it is for. [ParseYAML]
// and [Set] make the same struct of it again; a struct with values that Set
// would refuse is refused here.
//
// It is written out here, not by the YAML package, so that the layout and the
// quoting are ours to promise.
func YAML(ptr any) ([]byte, error) {
	sch, v, err := open(ptr)
	if err != nil {
		return nil, err
	}
	if err := sch.check(v).orNil(); err != nil {
		return nil, err
	}
	w := yamlWriter{groups: sch.groups}
	for _, s := range sch.settings {
		w.setting(&s, v)
	}
	return []byte(w.out.String()), nil
}

// yamlWriter writes settings one after another. It relies on the settings of a
// group being together, which one field for each group sees to.
type yamlWriter struct {
	out    strings.Builder
	groups map[string]string // the doc of each group
	group  string            // the one now open
}

func (w *yamlWriter) setting(s *setting, root reflect.Value) {
	group, name := splitKey(s.Key)
	w.enter(group)
	indent := indentOf(s.Key)
	w.comment(indent, meaning(s.Field)+"; default "+shown(s.Default))
	w.out.WriteString(indent + name + ": " + s.yaml(root) + "\n")
}

// enter opens group, outer groups first, unless it or one within it is open.
func (w *yamlWriter) enter(group string) {
	if group == w.group || strings.HasPrefix(w.group, group+".") || group == "" {
		w.group = group
		return
	}
	outer, name := splitKey(group)
	w.enter(outer)
	indent := indentOf(group)
	w.comment(indent, w.groups[group])
	w.out.WriteString(indent + name + ":\n")
	w.group = group
}

func (w *yamlWriter) comment(indent, text string) {
	start := indent + "# "
	for _, line := range wrap(text, max(lineWidth-len(start), lineWidth/2)) {
		w.out.WriteString(start + line + "\n")
	}
}

// splitKey parts a dotted key into its group and its name there.
func splitKey(key string) (group, name string) {
	if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
		return key[:dot], key[dot+1:]
	}
	return "", key
}

func indentOf(key string) string { return strings.Repeat("  ", strings.Count(key, ".")) }

// yaml returns the value that the setting has in root, as a scalar or a sequence.
func (s *setting) yaml(root reflect.Value) string {
	items := s.items(root)
	if s.item().Kind() == reflect.String {
		for i, item := range items {
			items[i] = yamlString(item)
		}
	}
	if s.list {
		return "[" + strings.Join(items, ", ") + "]"
	}
	return items[0]
}

var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./-]*$`)

// yamlString writes text bare if no reader of YAML, old or new, could take it for
// anything else. Go's quoting is also YAML's for text that is valid UTF-8.
func yamlString(text string) string {
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
	default:
		if plain.MatchString(text) {
			return text
		}
	}
	return strconv.Quote(text)
}
