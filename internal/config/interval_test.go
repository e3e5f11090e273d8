package config

import (
	"math/big"
	"reflect"
	"strings"
	"testing"
)

var floatBound = func() func(string) (*big.Float, error) {
	t := reflect.TypeFor[float64]()
	k, _ := kindOf(t)
	return k.bound(t)
}()

func TestInterval(t *testing.T) {
	cases := []struct {
		text    string
		in, out []float64
	}{
		{"[0,1]", []float64{0, 0.5, 1}, []float64{-1e-300, 1.0000001}},
		{"(0,1]", []float64{5e-324, 1}, []float64{0, 2}},
		{"[1,)", []float64{1, 1e308}, []float64{0.999}},
		{"(,0)", []float64{-1e308, -5e-324}, []float64{0, 1}},
		{" [ -1e3 , .1 ] ", []float64{-1000, 0.1}, []float64{-1001, 0.11}},
		{"[2,2]", []float64{2}, []float64{1, 3}},
	}
	for _, c := range cases {
		r, err := parseInterval(c.text, floatBound)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, x := range c.in {
			if !r.contains(big.NewFloat(x)) {
				t.Errorf("%g is not in %s", x, c.text)
			}
		}
		for _, x := range c.out {
			if r.contains(big.NewFloat(x)) {
				t.Errorf("%g is in %s", x, c.text)
			}
		}
	}
}

func TestIntervalErrors(t *testing.T) {
	form := " is not an interval such as [0,1], (0,1], [1,) or (,0)"
	cases := []struct{ text, want string }{
		{"", `range ""` + form},
		{"[", `range "["` + form},
		{"[]", `range "[]"` + form},
		{"0,1", `range "0,1"` + form},
		{"[0;1]", `range "[0;1]"` + form},
		{"(,)", `range "(,)" bounds nothing; leave it out`},
		{"[1,0]", `range "[1,0]" is empty`},
		{"(1,1]", `range "(1,1]" is empty`},
		{"[1,]", `range "[1,]": upper bound: without a number the bracket must be round`},
		{"[,1]", `range "[,1]": lower bound: without a number the bracket must be round`},
		{"[0,inf)", `range "[0,inf)": upper bound: "inf" is not a finite number`},
		{"[0,1,2]", `range "[0,1,2]": upper bound: "1,2" is not a number`},
		{"[a,1]", `range "[a,1]": lower bound: "a" is not a number`},
	}
	for _, c := range cases {
		_, err := parseInterval(c.text, floatBound)
		wantError(t, err, c.want)
	}
}

// TestIntervalExact has bounds that a float64 cannot tell from their neighbours.
func TestIntervalExact(t *testing.T) {
	var s struct {
		N int64  `default:"9007199254740993" range:"[9007199254740993,)" doc:"d"`
		U uint64 `default:"0" range:"[0,18446744073709551614]" doc:"d"`
	}
	wantError(t, Set(&s, assign(t, "n=9007199254740992", "u=18446744073709551615")),
		"--set: n: 9007199254740992 is outside [9007199254740993,)\n"+
			"--set: u: 18446744073709551615 is outside [0,18446744073709551614]")
	wantError(t, Set(&s, assign(t, "n=9007199254740993", "u=18446744073709551614")), "")
}

// FuzzInterval checks that whatever parses is not empty, keeps to its brackets, and
// never takes a value beyond a bound.
func FuzzInterval(f *testing.F) {
	for _, text := range []string{"[0,1]", "(0,1]", "[1,)", "(,0)", "[1,0]", "(,)", "[-1e3,1_000]", "[,", "[0,inf)", "[1e999,)"} {
		f.Add(text, 0.5)
	}
	f.Fuzz(func(t *testing.T, text string, x float64) {
		r, err := parseInterval(text, floatBound)
		if err != nil || x != x {
			return
		}
		trimmed := strings.TrimSpace(text)
		v := big.NewFloat(x)
		for _, end := range []struct {
			bound  *big.Float
			closed bool
			sign   int
		}{{r.lo, trimmed[0] == '[', -1}, {r.hi, trimmed[len(trimmed)-1] == ']', 1}} {
			if end.bound == nil {
				continue
			}
			if r.contains(end.bound) != end.closed {
				t.Errorf("%q: whether it has its bound %v is wrong", text, end.bound)
			}
			if v.Cmp(end.bound) == end.sign && r.contains(v) {
				t.Errorf("%q has %v", text, v)
			}
		}
	})
}
