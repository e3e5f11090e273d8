package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// entry is an array as the header describes it: without its data, but with the place they have.
type entry struct {
	Array
	begin, end int64
}

// header is a file's JSON, taken apart and checked.
type header struct {
	meta    map[string]string // the caller's
	own     map[string]string // the package's, with the prefix
	entries []entry           // entries in name order
	data    int64             // bytes of data that the entries cover
}

// parseHeader reads a header strictly: no key twice, none unknown or missing, data without gap or
// overlap. It reads tokens rather than unmarshalling because only so duplicate keys come to light.
func parseHeader(raw []byte) (header, error) {
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return header{}, damaged("the header is not JSON")
	}
	p := parser{json.NewDecoder(bytes.NewReader(raw))}
	p.UseNumber()
	h := header{meta: map[string]string{}, own: map[string]string{}}
	err := p.object(func(name string) error {
		if name == metadataKey {
			return p.metadata(&h)
		}
		e, err := p.entry(name)
		h.entries = append(h.entries, e)
		return err
	})
	if err == nil {
		err = h.place()
	}
	if err != nil {
		return header{}, damaged("the header is wrong: %v", err)
	}
	return h, nil
}

// place checks that the entries cover the data from its start without gap or overlap, and puts them
// in name order.
func (h *header) place() error {
	slices.SortFunc(h.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.Name, b.Name))
	})
	for _, e := range h.entries {
		if e.begin != h.data {
			return fmt.Errorf("array %q starts at byte %d of the data, not at %d", e.Name, e.begin, h.data)
		}
		h.data = e.end
	}
	slices.SortFunc(h.entries, func(a, b entry) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// check compares the entry's extent with its dtype and shape.
func (e entry) check() error {
	if err := e.checkName(); err != nil {
		return err
	}
	n, err := e.size()
	if err == nil && (e.begin > e.end || e.end-e.begin != n) {
		err = fmt.Errorf("%s%v takes %d bytes, its place is %d to %d", e.DType, e.Shape, n, e.begin, e.end)
	}
	if err != nil {
		return fmt.Errorf("array %q: %w", e.Name, err)
	}
	return nil
}

// parser reads the JSON of a header that is known to be valid JSON.
type parser struct{ *json.Decoder }

func (p parser) metadata(h *header) error {
	return p.object(func(key string) error {
		value, err := token[string](p)
		if err != nil {
			return fmt.Errorf("metadata %q: %w", key, err)
		}
		if strings.HasPrefix(key, ownPrefix) {
			h.own[key] = value
		} else {
			h.meta[key] = value
		}
		return nil
	})
}

func (p parser) entry(name string) (entry, error) {
	e := entry{Array: Array{Name: name}}
	var place []int64
	fields := 0
	err := p.object(func(key string) (err error) {
		fields++
		switch key {
		case "dtype":
			e.DType, err = token[string](p)
		case "shape":
			e.Shape, err = p.shape()
		case "data_offsets":
			place, err = p.integers(2)
		default:
			err = fmt.Errorf("unknown field %q", key)
		}
		return err
	})
	if err == nil && (fields != 3 || len(place) != 2) {
		err = fmt.Errorf("it needs a dtype, a shape and two data_offsets")
	}
	if err != nil {
		return entry{}, fmt.Errorf("array %q: %w", name, err)
	}
	e.begin, e.end = place[0], place[1]
	return e, e.check()
}

func (p parser) shape() ([]int, error) {
	dims, err := p.integers(maxRank)
	shape := make([]int, len(dims))
	for i, d := range dims {
		if d > math.MaxInt {
			return nil, fmt.Errorf("dimension %d is too large", d)
		}
		shape[i] = int(d)
	}
	return shape, err
}

// integers reads a list of at most most integers, none negative.
func (p parser) integers(most int) ([]int64, error) {
	if err := p.delim('['); err != nil {
		return nil, err
	}
	var list []int64
	for p.More() {
		number, err := token[json.Number](p)
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseUint(number.String(), 10, 63)
		if err != nil {
			return nil, fmt.Errorf("%s is not a size or an offset", number)
		}
		if len(list) == most {
			return nil, fmt.Errorf("a list of more than %d numbers", most)
		}
		list = append(list, int64(n))
	}
	return list, p.delim(']')
}

// object reads an object, calling value for each key to read what belongs to it.
func (p parser) object(value func(key string) error) error {
	if err := p.delim('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.More() {
		key, err := token[string](p)
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("%q is there twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return p.delim('}')
}

func (p parser) delim(want json.Delim) error {
	got, err := token[json.Delim](p)
	if err == nil && got != want {
		err = fmt.Errorf("%s where %s is wanted", got, want)
	}
	return err
}

// token reads one token, which must be a T.
func token[T any](p parser) (T, error) {
	t, err := p.Token()
	if err != nil {
		return *new(T), err
	}
	v, ok := t.(T)
	if !ok {
		return v, fmt.Errorf("unexpected %v", t)
	}
	return v, nil
}
