package gym

import (
	"encoding/json"
	"fmt"
	"strings"
)

// python are words that mean something else to Python than text.
var python = map[string]string{"True": "true", "False": "false", "None": "null"}

// value returns an argument as JSON: text that is none is a string.
func value(text string) json.RawMessage {
	if word, ok := python[text]; ok {
		text = word
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text) // a string always can be
	return quoted
}

func setArg(args *map[string]json.RawMessage, key, text string) error {
	key = strings.TrimPrefix(key, "arg.")
	if key == "" || strings.ContainsAny(key, ". ()") {
		return fmt.Errorf("%q is not a name of a keyword argument", key)
	}
	if _, twice := (*args)[key]; twice {
		return fmt.Errorf("keyword argument %s is given twice", key)
	}
	// A copy, because options are copied by value.
	next := map[string]json.RawMessage{key: value(text)}
	for k, v := range *args {
		next[k] = v
	}
	*args = next
	return nil
}

// wrapper is a wrapper as workers are told of it.
type wrapper struct {
	Name string                     `json:"name"`
	Args map[string]json.RawMessage `json:"args"`
}

// parseWrapper reads Name or Name(key=value;key=value).
func parseWrapper(text string) (wrapper, error) {
	name, rest, has := strings.Cut(text, "(")
	w := wrapper{Name: name, Args: map[string]json.RawMessage{}}
	if !has {
		return w, nil
	}
	rest, closed := strings.CutSuffix(rest, ")")
	if !closed || name == "" {
		return w, fmt.Errorf("wrapper %q is not of the form Name(key=value;key=value)", text)
	}
	for part := range strings.SplitSeq(rest, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, v, ok := strings.Cut(part, "=")
		if !ok {
			return w, fmt.Errorf("wrapper %s: %q is not of the form key=value", name, part)
		}
		if err := setArg(&w.Args, strings.TrimSpace(key), strings.TrimSpace(v)); err != nil {
			return w, fmt.Errorf("wrapper %s: %w", name, err)
		}
	}
	return w, nil
}
