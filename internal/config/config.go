// Package config makes a plain Go struct settable by its users: from a YAML
// file, from key=value flags, and from both together.
//
// The struct is described by tags alone, so a package that owns settings need
// not import this one:
//
//	type Config struct {
//		Envs   int       `default:"4" unit:"environments" range:"[1,)" doc:"environments stepped together"`
//		LR     float64   `key:"learning_rate" default:"2.5e-4" range:"(0,1]" doc:"Adam's step size at the start"`
//		Anneal string    `default:"linear" oneof:"linear constant" doc:"how the step size falls"`
//		Net    NetConfig // its settings are net.hidden, net.activation and so on
//	}
//
// A setting is a bool, int, int64, uint64, float64, string or time.Duration, or
// a slice of one of these. Its tags are
//
//	key      its name; without one, the field's name in snake_case
//	default  its value before anything is set; may be left out only where
//	         empty text is a value, for strings and lists
//	range    an interval such as [0,1], (0,1], [1,) or (,0); each item of a
//	         list must lie in it
//	oneof    the values allowed, separated by spaces
//	unit     what a number counts
//	doc      what it is for; every setting has one
//
// A nested struct is a group, and its settings have dotted keys. An embedded
// struct without a key of its own is flattened, and may be given other defaults:
// `defaults:"rate=1e-3 size=4"`. Unexported fields are left alone.
//
// Values travel as text: an [Assignment]. A list is its items separated by
// commas; an item that is empty, or holds a comma or a quote, is written between
// double quotes. Wrong settings are never reported one at a time: see [Errors].
package config

import (
	"fmt"
	"reflect"
)

// Field describes one setting and the value it now has.
type Field struct {
	Key     string   // dotted name, such as "net.hidden"
	Kind    string   // such as "int", "duration" or "float64 list"
	Unit    string   // unit of a number; may be empty
	Default string   // default as the tag writes it
	Normal  string   // default as Value would have it
	Range   string   // range as the tag writes it; may be empty
	OneOf   []string // the values allowed; empty where any is
	Doc     string   // help text
	Names   string   // kind of what the value names on the machine: a program, a file or a folder; empty is nothing
	Value   string   // the present value, as Set would read it
}

// Check reports everything wrong with the tags of the struct that ptr points to:
// a programming error, so this is for the tests of packages that own settings.
// The values are not looked at.
func Check(ptr any) error {
	_, _, err := open(ptr)
	return err
}

// Defaults fills the struct that ptr points to with the defaults of its tags.
func Defaults(ptr any) error {
	sch, v, err := open(ptr)
	if err != nil {
		return err
	}
	for _, s := range sch.settings {
		v.FieldByIndex(s.index).Set(s.initial())
	}
	return nil
}

// Fields lists the settings of the struct that ptr points to, in the order of
// their declaration.
func Fields(ptr any) ([]Field, error) {
	sch, v, err := open(ptr)
	if err != nil {
		return nil, err
	}
	fields := make([]Field, len(sch.settings))
	for i, s := range sch.settings {
		fields[i] = s.Field
		fields[i].Value = s.text(v)
		fields[i].Normal = s.normal()
	}
	return fields, nil
}

// Map returns every key with its present value, in the order of declaration.
// Setting the result on another struct of the type copies the configuration.
func Map(ptr any) ([]Assignment, error) {
	fields, err := Fields(ptr)
	if err != nil {
		return nil, err
	}
	pairs := make([]Assignment, len(fields))
	for i, f := range fields {
		pairs[i] = Assignment{Key: f.Key, Value: f.Value}
	}
	return pairs, nil
}

// validate calls the Validate method of ptr, if it has one.
func validate(ptr any) Errors {
	v, ok := ptr.(interface{ Validate() error })
	if !ok {
		return nil
	}
	var problems Errors
	for _, err := range flatten(v.Validate()) {
		problems = append(problems, Problem{Err: err})
	}
	return problems
}

// open reads the tags of the struct that ptr points to.
func open(ptr any) (*schema, reflect.Value, error) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return nil, v, fmt.Errorf("config: settings must be a non-nil pointer to a struct, not %T", ptr)
	}
	sch, err := schemaOf(v.Elem().Type())
	return sch, v.Elem(), err
}
