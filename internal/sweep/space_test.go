package sweep

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/metrics"
)

var kinds = map[string]string{"env": "string", "steps": "int64", "set.rate": "float64", "set.epochs": "int", "set.hidden": "int list", "set.on": "bool"}

const example = `
search: grid
trials: 3
prune: {first: 10, factor: 2}
run:
  algorithm: ppo
  set.gamma: .9
space:
  env: [A-v0, B-v0]
  set:
    rate: {from: 1e-4, to: 1e-2, scale: log, points: 3}
    epochs: {from: 2, to: 4, points: 3}
  set.hidden: {oneof: ["64,64", '128']}
  set.on: [true, false]
`

// TestFile reads a file, and reads what it writes.
func TestFile(t *testing.T) {
	f, err := parse([]byte(example), "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	again, err := parse(f.Text(), "s.yaml")
	if err != nil || string(again.Text()) != string(f.Text()) || again.Settings != f.Settings {
		t.Errorf("%v: it is written as\n%s\nand then as\n%s", err, f.Text(), again.Text())
	}
	dims, err := again.Dims(kinds)
	if err != nil {
		t.Fatal(err)
	}
	p, err := again.Plan(dims, 100)
	if err != nil {
		t.Fatal(err)
	}
	if p.Trials != 3 || !slices.Equal(p.Rungs, []int64{10, 20, 40, 80}) || p.Search.(Grid).Size() != 2*3*3*2*2 {
		t.Errorf("%+v", p)
	}
	if got := p.Search.Propose(0, 5, nil); !slices.Equal(got, []string{"A-v0", "0.0001", "3", "64,64", "false"}) {
		t.Errorf("point 5 of the grid is %q", got)
	}
	if got := p.Search.Propose(0, 71, nil); !slices.Equal(got, []string{"B-v0", "0.01", "4", "128", "false"}) {
		t.Errorf("the last point is %q", got)
	}
	if f.Run[1].Key != "set.gamma" || f.Run[1].Value != ".9" {
		t.Errorf("the run has %v", f.Run)
	}
	f.SetTrials(9)
	if again, err = parse(f.Text(), "s.yaml"); err != nil || again.Trials != 9 {
		t.Errorf("%d trials (%v)", again.Trials, err)
	}
}

// TestFileMistakes: what is wrong is told with its line.
func TestFileMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"serach: tpe\nspace.env: [a]":                    `s.yaml:1: unknown setting "serach", did you mean "search"?`,
		"run.algorithm: ppo":                             "space is empty",
		"space:\n  set.rat: [1, 2]":                      "s.yaml:2: set.rat: no such setting: did you mean set.rate?",
		"space:\n  set.rate: {from: 1, to: 0}":           "s.yaml:2: set.rate: from 1 to 0 is no range",
		"space:\n  set.rate: {to: 1, scale: log}":        "s.yaml:2: set.rate: from 0: a scale of logarithms begins above 0",
		"space:\n  set.epochs: {from: .5, to: 3}":        "s.yaml:2: set.epochs: from 0.5 to 3: the setting takes whole numbers",
		"space:\n  env: {from: 1, to: 3}":                "s.yaml:2: env: is a string, which has no range",
		"space:\n  set.rate: {fro: 1, to: 3}":            "s.yaml:2: set.rate.fro: no such setting: did you mean set.rate?",
		"search: grid\nspace.set.rate: {from: 1, to: 3}": "a grid needs values",
		"prune.first: 100\nspace.env: [a]":               "prune.first: 100 steps are not before the 100 steps",
	} {
		f, err := parse([]byte(text), "s.yaml")
		if err == nil {
			var dims []Dim
			if dims, err = f.Dims(kinds); err == nil {
				_, err = f.Plan(dims, 100)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// TestPlaces: every value is found again where it was taken from, ends included, and whole numbers
// have equal shares.
func TestPlaces(t *testing.T) {
	for _, d := range []Dim{
		{Lo: 1e-5, Hi: 1e-1, Log: true}, {Lo: -3, Hi: 8}, {Lo: 1, Hi: 10, Whole: true}, {Lo: 1, Hi: 512, Whole: true, Log: true}, {Choices: []string{"a", "b", "c"}},
	} {
		for i := range 101 {
			v := d.At(float64(i) / 100)
			if again := d.At(d.Place(v)); again != v {
				t.Errorf("%+v: %s is found at %v, where %s is", d, v, d.Place(v), again)
			}
		}
	}
	shares := map[string]int{}
	for i := range 1000 {
		shares[(Dim{Lo: 1, Hi: 4, Whole: true}).At((float64(i)+.5)/1000)]++
	}
	for _, v := range []string{"1", "2", "3", "4"} {
		if shares[v] != 250 {
			t.Errorf("%s has a share of %d", v, shares[v])
		}
	}
	if d := (Dim{Lo: 1e-4, Hi: 1e-2, Log: true}); d.At(0) != "0.0001" || d.At(.5) != "0.001" || d.At(1) != "0.01" {
		t.Errorf("%s, %s, %s", d.At(0), d.At(.5), d.At(1))
	}
}

// TestDensities: they add up to 1, and are largest where values were seen.
func TestDensities(t *testing.T) {
	seen := []float64{.1, .12, .9}
	for _, d := range []density{newParzen(seen), newParzen(nil)} {
		sum := 0.
		for i := range 10000 {
			sum += d.at((float64(i)+.5)/10000) / 10000
		}
		if math.Abs(sum-1) > 1e-3 {
			t.Errorf("the density adds up to %v", sum)
		}
	}
	if d := newParzen(seen); d.at(.11) < d.at(.5) {
		t.Error("the density is not larger where values were seen")
	}
	if c := newCounts(3, []float64{.9, .8}); !slices.Equal(c, counts{.2, .2, .6000000000000001}) && !slices.Equal(c, counts{.2, .2, .6}) {
		t.Errorf("counts %v", c)
	}
}

// TestScore reads records: the newest value at the row that is the first at or behind a step.
func TestScore(t *testing.T) {
	row := func(step int64, name string, x float64) metrics.Row {
		return metrics.Row{Step: step, Values: []metrics.Value{{Name: name, X: x}}}
	}
	rows := []metrics.Row{row(10, "loss", 1), row(20, "loss", 2), row(20, "eval/return", 7), row(30, "loss", 3)}
	for _, c := range []struct {
		metric string
		until  int64
		want   float64
		judged bool
	}{
		{"loss", 5, 1, true}, {"loss", 11, 2, true}, {"loss", 0, 3, true}, {"eval/return", 15, 7, true},
		{"eval/return", 30, 7, false}, {"eval/return", 5, math.NaN(), true}, {"loss", 31, 3, false},
	} {
		if got, steps := Score(rows, c.metric, c.until); steps == 0 || got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s at %d is %v, want %v", c.metric, c.until, got, c.want)
		}
		if got := Judged(rows, c.metric, c.until); got != c.judged {
			t.Errorf("%s at %d: judged %v", c.metric, c.until, got)
		}
	}
}
