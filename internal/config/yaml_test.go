package config

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

const sampleYAML = `# seed of every random number; default 1
seed: 1
# environment steps in all; unit steps; range [1,); default 1e6
steps: 1000000
# environments stepped together; unit environments; range [1,); default 4
envs: 4
# Adam's step size at the start; range (0,1]; default 2.5e-4
learning_rate: 0.00025
# discount; range [0,1]; default 0.99
gamma: 0.99
# how the step size falls; one of linear, constant; default linear
anneal: linear
# stop an update early beyond this divergence; 0 never does; range [0,); default 0
target_kl: 0
# anything worth remembering about the run; default ""
note: ""
net:
  # width of each hidden layer; unit units; range [1,); default 64,64
  hidden: [64, 64]
  # what follows a hidden layer; one of tanh, relu; default tanh
  activation: tanh
  # how parameters start
  init:
    # scale of the first weights; range (0,); default 1.41
    gain: 1.41
  # whether layers have a bias; default true
  bias: true
# one factor to a phase; range (0,1); default ""
decay: []
# labels; default a,"b,c"
tags: [a, "b,c"]
# time between checkpoints; range (0s,24h]; default 30s
every: 30s
# frames in an observation; one of 1, 4, 16; default 4
stack: 4
`

func TestYAML(t *testing.T) {
	s := defaultSample()
	got, err := YAML(&s)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != sampleYAML {
		t.Errorf("got\n%s", got)
	}
}

func TestYAMLWrapsComments(t *testing.T) {
	var s struct {
		Net struct {
			N int `default:"1" doc:"a sentence long enough that, with all that is said of the unit, it cannot be kept on one line" unit:"things"`
		}
	}
	got, err := YAML(&s)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(got)) {
		if len(line) > lineWidth+1 {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
	if n := strings.Count(string(got), "  # "); n != 2 {
		t.Errorf("comment is on %d lines, not 2:\n%s", n, got)
	}
}

func TestYAMLRefuses(t *testing.T) {
	s := defaultSample()
	s.Gamma, s.TargetKL, s.Note = math.NaN(), math.Inf(1), "\xff"
	_, err := YAML(&s)
	wantError(t, err, `gamma: "NaN" is not a finite number
target_kl: "+Inf" is not a finite number
note: the text is not valid UTF-8`)
}

// TestYAMLGroups goes in and out of groups in every way.
func TestYAMLGroups(t *testing.T) {
	type leaf struct {
		N int `default:"1" doc:"d"`
	}
	var s struct {
		A struct {
			B struct{ C, D leaf }
			E leaf
			N int `default:"1" doc:"d"`
		}
		Ab leaf
		N  int `default:"1" doc:"d"`
	}
	data, err := YAML(&s)
	if err != nil {
		t.Fatal(err)
	}
	pairs, err := ParseYAML(data, "")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, p := range pairs {
		keys = append(keys, p.Key)
	}
	if want := []string{"a.b.c.n", "a.b.d.n", "a.e.n", "a.n", "ab.n", "n"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q, from\n%s", keys, want, data)
	}
}

// loose has every kind and bounds none, for round trips of extreme values.
type loose struct {
	B  bool          `default:"false" doc:"d"`
	I  int           `default:"0" doc:"d"`
	L  int64         `default:"0" doc:"d"`
	U  uint64        `default:"0" doc:"d"`
	F  float64       `default:"0" doc:"d"`
	S  string        `doc:"d"`
	D  time.Duration `default:"0s" doc:"d"`
	In struct {
		Is []int     `doc:"d"`
		Fs []float64 `doc:"d"`
		Ss []string  `doc:"d"`
	}
}

// awkward are runes and words that YAML, lists or quoting treat specially.
var awkward = []string{
	"", " ", "a", "Z", "0", "_", ",", `"`, "'", `\`, "\n", "\r", "\t", "\x00", "\x7f", "\u0085", "\u00a0", "\u2028", "\ufeff", "\ufffd",
	"\uffff", "é", "世", "😀", ":", ": ", "#", " #", "-", "- ", "?", "[", "]", "{", "}", "&", "*", "!", "|", ">", "%", "@", "`", "~", "=", "<<",
	"null", "true", "no", "1e3", ".inf", "0x1", "---", "...", "2001-01-01",
}

func randomText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(4) {
		b.WriteString(awkward[rng.IntN(len(awkward))])
	}
	return b.String()
}

func randomFloat(rng *rand.Rand) float64 {
	for {
		if x := math.Float64frombits(rng.Uint64()); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x
		}
	}
}

// randomList has up to three items; none is nil, as for Set.
func randomList[T any](rng *rand.Rand, item func(*rand.Rand) T) []T {
	var list []T
	for range rng.IntN(4) {
		list = append(list, item(rng))
	}
	return list
}

func randomLoose(rng *rand.Rand) loose {
	bits := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
	l := loose{
		B: rng.IntN(2) == 0, I: int(bits()), L: int64(bits()), U: bits(), F: randomFloat(rng), S: randomText(rng),
		D: time.Duration(bits()),
	}
	l.In.Is = randomList(rng, func(*rand.Rand) int { return int(bits()) })
	l.In.Fs = randomList(rng, randomFloat)
	l.In.Ss = randomList(rng, randomText)
	return l
}

// roundTrip writes from as YAML and reads it into a new struct of its type.
func roundTrip[T any](from *T) (to T, data []byte, err error) {
	if data, err = YAML(from); err != nil {
		return to, data, err
	}
	pairs, err := ParseYAML(data, "x.yaml")
	if err != nil {
		return to, data, err
	}
	return to, data, Set(&to, pairs)
}

func TestYAMLRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	check := func(want loose) {
		got, data, err := roundTrip(&want)
		if err != nil || !reflect.DeepEqual(got, want) || math.Signbit(got.F) != math.Signbit(want.F) {
			t.Fatalf("got  %+v\nwant %+v\nerror %v\n%s", got, want, err, data)
		}
	}
	check(loose{I: math.MinInt, L: math.MinInt64, D: math.MinInt64, U: math.MaxUint64, F: math.Copysign(0, -1)})
	check(loose{I: math.MaxInt, L: math.MaxInt64, D: math.MaxInt64, F: math.SmallestNonzeroFloat64})
	for _, text := range awkward {
		l := loose{S: text}
		l.In.Ss = []string{text}
		check(l)
	}
	for range 1000 {
		check(randomLoose(rng))
	}
}

func TestParseYAML(t *testing.T) {
	data := `# a run
envs: 8
learning_rate: 1e-3
net: &net
  hidden: [64, 1_000]
  "activation": 'relu'

tags:
  - a
  - "b,c"
  - ""
policy.net: *net
note: >
  folded
  text
list: [*w]
odd: <<
`
	data = strings.Replace(data, "'relu'", "&w 'relu'", 1)
	got, err := ParseYAML([]byte(data), "run.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []Assignment{
		{"envs", "8", "run.yaml:2", false},
		{"learning_rate", "1e-3", "run.yaml:3", false},
		{"net.hidden", "64,1_000", "run.yaml:5", true},
		{"net.activation", "relu", "run.yaml:6", false},
		{"tags", `a,"b,c",""`, "run.yaml:8", true},
		{"policy.net.hidden", "64,1_000", "run.yaml:5", true},
		{"policy.net.activation", "relu", "run.yaml:6", false},
		{"note", "folded text\n", "run.yaml:13", false},
		{"list", "relu", "run.yaml:16", true},
		{"odd", "<<", "run.yaml:17", false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestParseYAMLEmpty(t *testing.T) {
	for _, data := range []string{"", "\n", "# only a comment\n", "---\n", "~\n", "{}\n"} {
		if got, err := ParseYAML([]byte(data), "f"); len(got) != 0 || err != nil {
			t.Errorf("%q: %+v, %v", data, got, err)
		}
	}
}

func TestParseYAMLErrors(t *testing.T) {
	noValue := `has no value; give it one ("" for empty text) or take the line out`
	cases := []struct{ name, data, want string }{
		{"unclosed", "a: 1\nb: [1\nc: 2\n", "f:2: did not find expected ',' or ']'"},
		{"first line", "a: b: c\n", "f:1: mapping values are not allowed in this context"},
		{"indent", "a: 1\nb: 2\n c: 3\n", "f:3: mapping values are not allowed in this context"},
		{"tab", "a: 1\n\tb: 2\n", "f:2: found a tab character that violates indentation"},
		{"item", "a: 1\n- b\n", "f:2: did not find expected key"},
		{"not UTF-8", "a: 1\nb: \xff\n", "f:2: not text: the file must be UTF-8 without control characters"},
		{"control", "a: 1\n\nb: \x01\n", "f:3: not text: the file must be UTF-8 without control characters"},
		{"twice", "a: 1\nb: 2\na: 3\n", "f:3: a: set twice, first at f:1"},
		{"twice on a line", "{a: 1, a: 2}", "f:1: a: set twice"},
		{"twice by dots", "n:\n  a: 1\nn.a: 2\n", "f:3: n.a: set twice, first at f:2"},
		{"group twice", "n: {a: 1}\nm: 2\nn: {b: 1}\n", "f:3: n: set twice, first at f:1"},
		{"no map", "- a\n- b\n", "f:1: the file must be a map of settings, one key: value to a line"},
		{"scalar", "\nhello\n", "f:2: the file must be a map of settings, one key: value to a line"},
		{"key", "a: 1\n? [b, c]\n: 2\n{d: 1}: 3\n", "f:2: a key must be a name, not a map or a list\nf:4: a key must be a name, not a map or a list"},
		{"no key", "a: 1\n? \n: 2\n", "f:2: a key is missing before the colon"},
		{"no value", "a:\nb: ~\nc: {}\nd: [1, null]\n", "f:1: a: " + noValue + "\nf:2: b: " + noValue + "\nf:3: c: " + noValue +
			"\nf:4: d: item 2: " + noValue},
		{"deep list", "a: [[1], 2]\n", "f:1: a: item 1: must be a single value, not a map or a list"},
		{"no anchor", "a: '*x'\n# *x\nb: *x\nc: *x\n", "f:3: alias *x has no anchor &x before it"},
		{"in itself", "a: &x\n  b: 1\n  c:\n    d: *x\n", "f:4: a.c.d: anchor &x contains itself"},
		{"list in itself", "a: &x [1, *x]\n", "f:1: a: item 2: must be a single value, not a map or a list"},
		{"merge", "a: &x {b: 1}\nc:\n  <<: *x\n", "f:3: merging maps with << is not supported; write the settings out"},
		{"tag", "a: !!binary aGk=\nb: !own 3\nc: !!set {d}\ne: !own [1]\n", "f:1: a: tag !!binary is not supported; leave it out\n" +
			"f:2: b: tag !own is not supported; leave it out\nf:3: c: tag !!set is not supported; leave it out\n" +
			"f:4: e: tag !own is not supported; leave it out"},
		{"two documents", "a: 1\n---\nb: 2\n", "f:2: a second document starts here; only one is read"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseYAML([]byte(c.data), "f")
			wantError(t, err, c.want)
		})
	}
}

func TestParseYAMLNoSource(t *testing.T) {
	_, err := ParseYAML([]byte("a: 1\na: 2\n"), "")
	wantError(t, err, "line 2: a: set twice, first at line 1")
	_, err = ParseYAML([]byte("a: *x\n"), "")
	wantError(t, err, "line 1: alias *x has no anchor &x before it")
}

// TestParseYAMLKeepsRight checks that one bad line does not hide what is wrong with
// the values of the others.
func TestParseYAMLKeepsRight(t *testing.T) {
	got, err := ParseYAML([]byte("a: 1\nb:\nc: 3\n"), "f")
	want := []Assignment{{"a", "1", "f:1", false}, {"c", "3", "f:3", false}}
	if err == nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestParseYAMLUnfolds has eight levels of ten aliases each, a hundred million
// values: it must end, soon, with one error.
func TestParseYAMLUnfolds(t *testing.T) {
	var b strings.Builder
	b.WriteString("l0: &l0 {k: 1}\n")
	for level := 1; level <= 8; level++ {
		fmt.Fprintf(&b, "l%d: &l%[1]d {", level)
		for i := range 10 {
			fmt.Fprintf(&b, "k%d: *l%d, ", i, level-1)
		}
		b.WriteString("}\n")
	}
	_, err := ParseYAML([]byte(b.String()), "f")
	if err == nil || !strings.HasSuffix(err.Error(), "the file unfolds into more than 100000 values; use fewer aliases") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}

// FuzzYAML checks that no document makes the reader panic, that a refused one
// changes nothing, and that one that is taken survives a round trip.
func FuzzYAML(f *testing.F) {
	for _, data := range []string{
		"envs: 8 # all\nnet: {hidden: [1, 2], init: {gain: 2}}\ntags: [a, \"b,c\"]", "a: &x {b: *x}", "? [a]\n: 1", "tags: [\"\", ',', \"\\u0085\"]", "note: |\n  x\n\n", "every: -1ns",
		"<<: 1", "gamma: .nan", "net: 1\nnet.bias: false", "seed: 1.5e1", "a: *b", "decay: 0.5, 0.25", "--- a\n--- b", "note: \"\\x00\"",
	} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pairs, err := ParseYAML(data, "f")
		s := defaultSample()
		if setErr := Set(&s, pairs); setErr != nil {
			if want := defaultSample(); !reflect.DeepEqual(s, want) {
				t.Fatalf("changed by what was refused: %+v", s)
			}
			return
		}
		if err != nil {
			return
		}
		got, written, err := roundTrip(&s)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("got  %+v\nwant %+v\nerror %v\n%s", got, s, err, written)
		}
	})
}
