package config

import (
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// kind is how values of one type are read, written and compared.
type kind struct {
	name  string
	read  func(text string, into reflect.Value) error
	write func(reflect.Value) string
	// number is the exact value, for ranges; nil where values have no order.
	number func(reflect.Value) *big.Float
}

var durationType = reflect.TypeFor[time.Duration]()

// kindOf returns how to treat values of type t, which is not a list.
func kindOf(t reflect.Type) (k kind, ok bool) {
	if t == durationType {
		return kind{"duration", readDuration, writeDuration, intNumber}, true
	}
	name := t.Kind().String()
	switch t.Kind() {
	case reflect.Bool:
		return kind{name, readBool, writeBool, nil}, true
	case reflect.Int, reflect.Int64:
		return kind{name, readInt, writeInt, intNumber}, true
	case reflect.Uint64:
		return kind{name, readUint, writeUint, uintNumber}, true
	case reflect.Float64:
		return kind{name, readFloat, writeFloat, floatNumber}, true
	case reflect.String:
		return kind{name, readString, reflect.Value.String, nil}, true
	}
	return kind{}, false
}

// bound reads one end of a range.
func (k kind) bound(t reflect.Type) func(string) (*big.Float, error) {
	return func(text string) (*big.Float, error) {
		v := reflect.New(t).Elem()
		if err := k.read(text, v); err != nil {
			return nil, err
		}
		return k.number(v), nil
	}
}

func readBool(text string, into reflect.Value) error {
	switch trimmed := strings.TrimSpace(text); {
	case strings.EqualFold(trimmed, "true"):
		into.SetBool(true)
	case strings.EqualFold(trimmed, "false"):
		into.SetBool(false)
	default:
		return fmt.Errorf("%q is neither true nor false", text)
	}
	return nil
}

func writeBool(v reflect.Value) string { return strconv.FormatBool(v.Bool()) }

func readInt(text string, into reflect.Value) error {
	n, err := parseInt(text, into.Type().Bits())
	into.SetInt(n)
	return err
}

func writeInt(v reflect.Value) string        { return strconv.FormatInt(v.Int(), 10) }
func intNumber(v reflect.Value) *big.Float   { return new(big.Float).SetInt64(v.Int()) }
func writeUint(v reflect.Value) string       { return strconv.FormatUint(v.Uint(), 10) }
func uintNumber(v reflect.Value) *big.Float  { return new(big.Float).SetUint64(v.Uint()) }
func writeFloat(v reflect.Value) string      { return strconv.FormatFloat(v.Float(), 'g', -1, 64) }
func floatNumber(v reflect.Value) *big.Float { return big.NewFloat(v.Float()) }

func readUint(text string, into reflect.Value) error {
	n, err := parseUint(text, into.Type().Bits())
	into.SetUint(n)
	return err
}

func readFloat(text string, into reflect.Value) error {
	x, err := parseFloat(text)
	into.SetFloat(x)
	return err
}

// readString takes any text. Bytes that are not text could not be written to
// YAML and read back.
func readString(text string, into reflect.Value) error {
	if !utf8.ValidString(text) {
		return errors.New("the text is not valid UTF-8")
	}
	into.SetString(text)
	return nil
}

func readDuration(text string, into reflect.Value) error {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 1.5s, 10m or 2h", text)
	}
	into.SetInt(int64(d))
	return nil
}

func writeDuration(v reflect.Value) string { return time.Duration(v.Int()).String() }
