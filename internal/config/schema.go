package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// schema holds the tags of one struct type.
type schema struct {
	settings []setting
	groups   map[string]string // the doc of each group, by key
	fields   map[string]string // the Go field that has each key, groups included
	problems Errors
}

// schemaOf reads the tags of t, and reports all that is wrong with them.
func schemaOf(t reflect.Type) (*schema, error) {
	sch := &schema{groups: map[string]string{}, fields: map[string]string{}}
	name := t.String()
	if t.Name() == "" {
		name = "struct"
	}
	sch.walk(t, place{field: name})
	return sch, sch.problems.orNil()
}

// place is how far walk has come down into nested structs.
type place struct {
	field string // Go's name for it, such as "ppo.Config.Net"
	key   string
	index []int
	// defaults holds those that a struct which embeds this one gives it, by key, in the
	// place of its own.
	defaults map[string]string
}

func (sch *schema) walk(t reflect.Type, at place) {
	for i := range t.NumField() {
		f := t.Field(i)
		inner := place{at.field + "." + f.Name, at.key, append(slices.Clone(at.index), i), at.defaults}
		_, named := f.Tag.Lookup("key")
		switch isStruct := f.Type.Kind() == reflect.Struct; {
		case f.Anonymous && isStruct && !named:
			sch.embed(f, inner)
		case !f.IsExported():
		case isStruct:
			inner.key = sch.claim(f, inner)
			sch.group(f, inner)
		default:
			inner.key = sch.claim(f, inner)
			sch.add(f, inner)
		}
	}
}

// embed reads an embedded struct, whose settings stand among those of the struct
// around it. That one may give them other defaults: defaults:"rate=1e-3 size=4".
func (sch *schema) embed(f reflect.StructField, at place) {
	given := map[string]string{}
	for _, text := range strings.Fields(f.Tag.Get("defaults")) {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			sch.problems.addf(at.field, "", "defaults: %q is not of the form key=value", text)
		}
		given[key] = value
	}
	before := len(sch.settings)
	for key, value := range at.defaults { // what is around it all decides
		given[key] = value
	}
	at.defaults = given
	sch.walk(f.Type, at)
	for _, text := range strings.Fields(f.Tag.Get("defaults")) {
		key, _, _ := strings.Cut(text, "=")
		if !slices.ContainsFunc(sch.settings[before:], func(s setting) bool { return s.Key == under(at.key, key) }) {
			sch.problems.addf(at.field, key, "defaults: %s has no setting %q", f.Type, key)
		}
	}
}

var validKey = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// claim works out the full key of f, and sees that no other field has it.
func (sch *schema) claim(f reflect.StructField, at place) string {
	key, ok := f.Tag.Lookup("key")
	if !ok {
		key = snake(f.Name)
	}
	if !validKey.MatchString(key) {
		sch.problems.addf(at.field, key, "key %q is not in snake_case; give a key tag of a-z, 0-9 and _", key)
	}
	key = under(at.key, key)
	if first, taken := sch.fields[key]; taken {
		sch.problems.addf(at.field, key, "key %q is already that of %s", key, first)
	}
	sch.fields[key] = at.field
	return key
}

// under returns the key of name in the group prefix.
func under(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

func (sch *schema) group(f reflect.StructField, at place) {
	for _, tag := range []string{"default", "range", "oneof", "unit"} {
		if _, ok := f.Tag.Lookup(tag); ok {
			sch.problems.addf(at.field, at.key, "a group of settings takes no %s tag", tag)
		}
	}
	sch.groups[at.key] = f.Tag.Get("doc")
	before := len(sch.fields)
	sch.walk(f.Type, at)
	if len(sch.fields) == before {
		sch.problems.addf(at.field, at.key, "%s has no settings", f.Type)
	}
}

func (sch *schema) add(f reflect.StructField, at place) {
	s := setting{index: at.index, typ: f.Type}
	s.list = f.Type.Kind() == reflect.Slice
	var ok bool
	if s.kind, ok = kindOf(s.item()); !ok {
		sch.problems.addf(at.field, at.key, "a setting cannot be of type %s", f.Type)
		return
	}
	s.Field = Field{
		Key:     at.key,
		Kind:    s.kind.name,
		Unit:    f.Tag.Get("unit"),
		Default: f.Tag.Get("default"),
		Doc:     f.Tag.Get("doc"),
		Names:   f.Tag.Get("names"),
	}
	if text, ok := at.defaults[s.Key]; ok {
		s.Default = text
	}
	if s.list {
		s.Kind += " list"
	}
	if strings.TrimSpace(s.Doc) == "" {
		sch.problems.addf(at.field, at.key, "no doc tag")
	}
	sch.printable(f.Tag, at)
	if sch.limit(&s, f.Tag, at) {
		_, errs := s.read(s.Default)
		for _, err := range errs {
			sch.problems.addf(at.field, at.key, "default: %w", err)
		}
	}
	sch.settings = append(sch.settings, s)
}

// printable checks that the tags shown to users as they are can be shown on a line.
func (sch *schema) printable(tag reflect.StructTag, at place) {
	for _, name := range []string{"doc", "unit", "oneof"} {
		if text := tag.Get(name); hasHidden(text) {
			sch.problems.addf(at.field, at.key, "%s tag %q has characters that cannot be printed", name, text)
		}
	}
}

// limit reads the tags that bound the values of s, and reports whether they are
// sound, without which the default cannot be judged.
func (sch *schema) limit(s *setting, tag reflect.StructTag, at place) bool {
	before := len(sch.problems)
	if text, ok := tag.Lookup("range"); ok {
		s.Range = text
		sch.bound(s, at)
	}
	if text, ok := tag.Lookup("oneof"); ok {
		sch.choices(s, strings.Fields(text), at)
	}
	return len(sch.problems) == before
}

func (sch *schema) bound(s *setting, at place) {
	if s.kind.number == nil {
		sch.problems.addf(at.field, at.key, "a %s takes no range", s.Kind)
		return
	}
	var err error
	if s.bounds, err = parseInterval(s.Range, s.kind.bound(s.item())); err != nil {
		sch.problems.addf(at.field, at.key, "%w", err)
	}
}

// choices puts the values allowed into the form in which values are written, so
// that "0.10" allows 0.1.
func (sch *schema) choices(s *setting, texts []string, at place) {
	if len(texts) == 0 {
		sch.problems.addf(at.field, at.key, "oneof allows nothing")
	}
	var choices []string
	for _, text := range texts {
		v := reflect.New(s.item()).Elem()
		if err := s.readItem(text, v); err != nil {
			sch.problems.addf(at.field, at.key, "oneof: %w", err)
		}
		choices = append(choices, s.kind.write(v))
	}
	s.OneOf = choices
}

// find returns the setting that has key.
func (sch *schema) find(key string) (*setting, bool) {
	i := slices.IndexFunc(sch.settings, func(s setting) bool { return s.Key == key })
	if i < 0 {
		return nil, false
	}
	return &sch.settings[i], true
}

func (sch *schema) keys() []string {
	keys := make([]string, len(sch.settings))
	for i, s := range sch.settings {
		keys[i] = s.Key
	}
	return keys
}

// check holds the values of root against the tags. Reading back what would be
// written tests just what Set does, and that nothing is lost on the way.
func (sch *schema) check(root reflect.Value) Errors {
	var problems Errors
	for _, s := range sch.settings {
		_, errs := s.read(s.text(root))
		for _, err := range errs {
			problems.addf("", s.Key, "%s: %w", s.Key, err)
		}
	}
	return problems
}

// snake turns a Go name into a key: TargetKL into target_kl, GAELambda into
// gae_lambda, Conv1DSize into conv1d_size.
func snake(name string) string {
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		startsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || startsWord) && runes[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
