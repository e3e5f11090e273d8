package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Assignment is one setting given a value by a user.
type Assignment struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Source string `json:"source,omitempty"` // where it was given, such as "--set" or "run.yaml:7"
	// List says that the value was written as a sequence, which only a list
	// takes. A list takes plain text with commas too.
	List bool `json:"list,omitempty"`
}

// ParseSet reads a flag of the form key=value. The value is all that follows the
// first equals sign, blanks and all.
func ParseSet(text, source string) (Assignment, error) {
	key, value, ok := strings.Cut(text, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" {
		return Assignment{}, Problem{Source: source, Err: fmt.Errorf("%q is not of the form key=value", text)}
	}
	return Assignment{Key: key, Value: value, Source: source}, nil
}

// Set applies assignments to the struct that ptr points to, or, if anything is
// wrong with any of them, leaves it as it was and returns every problem as
// [Errors]. Later layers override earlier ones, as flags do a file; within one
// layer a setting may be set only once. If ptr has a method Validate() error, it
// is called last, on the struct as it would be with the assignments that are
// right.
func Set(ptr any, layers ...[]Assignment) error {
	sch, v, err := open(ptr)
	if err != nil {
		return err
	}
	// A shallow copy is enough: lists are replaced, never written into.
	trial := reflect.New(v.Type())
	trial.Elem().Set(v)
	var problems Errors
	for _, layer := range layers {
		problems = append(problems, sch.apply(trial.Elem(), layer)...)
	}
	problems = append(problems, validate(trial.Interface())...)
	if len(problems) > 0 {
		return problems
	}
	v.Set(trial.Elem())
	return nil
}

// apply sets what it can of layer on root, and returns the problems of the rest.
func (sch *schema) apply(root reflect.Value, layer []Assignment) Errors {
	var problems Errors
	first := map[string]string{} // the source that set a key, for what is set twice
	for _, a := range layer {
		s, ok := sch.find(a.Key)
		if !ok {
			problems.addf(a.Source, a.Key, "%s", sch.unknown(a.Key))
			continue
		}
		if source, again := first[a.Key]; again {
			problems.addTwice(a.Key, a.Source, source)
		} else {
			first[a.Key] = a.Source
		}
		if a.List && !s.list {
			problems.addf(a.Source, a.Key, "%s: takes one value, not a list", a.Key)
			continue
		}
		value, errs := s.read(a.Value)
		for _, err := range errs {
			problems.addf(a.Source, a.Key, "%s: %w", a.Key, err)
		}
		if len(errs) == 0 {
			root.FieldByIndex(s.index).Set(value)
		}
	}
	return problems
}

// unknown says what is wrong with a key that is no setting.
func (sch *schema) unknown(key string) string {
	if _, ok := sch.groups[key]; ok {
		return fmt.Sprintf("%s: is a group of settings; set one of them, such as %s", key, sch.within(key))
	}
	if outer, _ := splitKey(key); slices.Contains(sch.keys(), outer) {
		return fmt.Sprintf("%s: takes a value, and has no settings such as %q in it", outer, key)
	}
	return fmt.Sprintf("unknown setting %q%s", key, didYouMean(key, sch.keys()))
}

// within returns the first setting of a group; the schema allows no group without.
func (sch *schema) within(group string) string {
	keys := sch.keys()
	return keys[slices.IndexFunc(keys, func(key string) bool { return strings.HasPrefix(key, group+".") })]
}
