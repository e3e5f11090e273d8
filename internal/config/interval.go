package config

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// interval is a range of numbers. An end that is nil has no bound. Numbers are
// big.Float so that whole numbers too large for a float64 still compare exactly.
type interval struct {
	lo, hi         *big.Float
	loOpen, hiOpen bool // whether the bound itself is outside
}

// parseInterval reads an interval in the notation of mathematics; bound reads
// one of its ends.
func parseInterval(text string, bound func(string) (*big.Float, error)) (*interval, error) {
	inner, r, ok := brackets(strings.TrimSpace(text))
	lo, hi, found := strings.Cut(inner, ",")
	if !ok || !found {
		return nil, fmt.Errorf("range %q is not an interval such as [0,1], (0,1], [1,) or (,0)", text)
	}
	var err error
	if r.lo, err = end(lo, r.loOpen, bound); err != nil {
		return nil, fmt.Errorf("range %q: lower bound: %w", text, err)
	}
	if r.hi, err = end(hi, r.hiOpen, bound); err != nil {
		return nil, fmt.Errorf("range %q: upper bound: %w", text, err)
	}
	if r.lo == nil && r.hi == nil {
		return nil, fmt.Errorf("range %q bounds nothing; leave it out", text)
	}
	if r.empty() {
		return nil, fmt.Errorf("range %q is empty", text)
	}
	return r, nil
}

// brackets takes off the brackets and notes which are round.
func brackets(text string) (inner string, r *interval, ok bool) {
	if len(text) < 2 {
		return "", nil, false
	}
	first, last := text[0], text[len(text)-1]
	ok = (first == '[' || first == '(') && (last == ']' || last == ')')
	return text[1 : len(text)-1], &interval{loOpen: first == '(', hiOpen: last == ')'}, ok
}

// end reads one bound. None is written as nothing beside a round bracket, since
// an end at infinity is not in the interval.
func end(text string, open bool, bound func(string) (*big.Float, error)) (*big.Float, error) {
	text = strings.TrimSpace(text)
	if text != "" {
		return bound(text)
	}
	if !open {
		return nil, errors.New("without a number the bracket must be round")
	}
	return nil, nil
}

func (r *interval) empty() bool {
	return !within(r.lo, r.hi, r.loOpen || r.hiOpen)
}

func (r *interval) contains(x *big.Float) bool {
	return within(r.lo, x, r.loOpen) && within(x, r.hi, r.hiOpen)
}

// within reports a <= b, or a < b where strict; nil is a bound that is not there.
func within(a, b *big.Float, strict bool) bool {
	if a == nil || b == nil {
		return true
	}
	order := a.Cmp(b)
	return order < 0 || order == 0 && !strict
}
