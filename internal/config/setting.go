package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// setting is a field of a struct of settings with what its tags say.
type setting struct {
	Field        // without Value
	index  []int // where it is, for FieldByIndex
	typ    reflect.Type
	kind   kind // kind of the value, or of each item of a list
	list   bool
	bounds *interval // nil where any value will do
}

// item returns the type that kind reads.
func (s *setting) item() reflect.Type {
	if s.list {
		return s.typ.Elem()
	}
	return s.typ
}

// read makes a value of text. A list may have a problem for each of its items.
// The empty list is nil, so that equal settings are equal structs.
func (s *setting) read(text string) (reflect.Value, []error) {
	v := reflect.New(s.typ).Elem()
	if !s.list {
		if err := s.readItem(text, v); err != nil {
			return v, []error{err}
		}
		return v, nil
	}
	items, err := splitList(text)
	if err != nil {
		return v, []error{err}
	}
	var errs []error
	for i, item := range items {
		v.Set(reflect.Append(v, reflect.Zero(s.item())))
		if err := s.readItem(item, v.Index(i)); err != nil {
			errs = append(errs, fmt.Errorf("item %d: %w", i+1, err))
		}
	}
	return v, errs
}

func (s *setting) readItem(text string, into reflect.Value) error {
	if err := s.kind.read(text, into); err != nil {
		return err
	}
	value := s.kind.write(into)
	if len(s.OneOf) > 0 && !slices.Contains(s.OneOf, value) {
		return fmt.Errorf("%q is not one of %s%s", text, strings.Join(s.OneOf, ", "), s.hint(text))
	}
	if s.bounds != nil && !s.bounds.contains(s.kind.number(into)) {
		return fmt.Errorf("%s is outside %s", value, s.Range)
	}
	return nil
}

// hint suggests a choice for a word that is none. Numbers a digit apart are not
// misspelt.
func (s *setting) hint(text string) string {
	if s.kind.number != nil {
		return ""
	}
	return didYouMean(text, s.OneOf)
}

// initial returns the default, made anew so that no two structs share a list.
// The schema has already made sure that it can be read.
func (s *setting) initial() reflect.Value {
	v, _ := s.read(s.Default)
	return v
}

// items writes the value that the setting has in root: one text, or one for each
// item of a list.
func (s *setting) items(root reflect.Value) []string { return s.write(root.FieldByIndex(s.index)) }

// write writes a value of the setting: one text, or one for each item of a list.
func (s *setting) write(v reflect.Value) []string {
	if !s.list {
		return []string{s.kind.write(v)}
	}
	items := make([]string, v.Len())
	for i := range items {
		items[i] = s.kind.write(v.Index(i))
	}
	return items
}

// text returns the value that the setting has in root, as read would take it.
func (s *setting) text(root reflect.Value) string { return s.join(s.items(root)) }

// normal returns the default as text returns values.
func (s *setting) normal() string { return s.join(s.write(s.initial())) }

// join returns what items were written from, as read would take it.
func (s *setting) join(items []string) string {
	if s.list {
		return joinList(items)
	}
	return items[0]
}

// didYouMean ends a complaint about word with the candidate it may stand for.
func didYouMean(word string, candidates []string) string {
	if near, ok := Nearest(word, candidates); ok {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
