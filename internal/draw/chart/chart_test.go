package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestSVG reads a figure back and looks for what a person must find in it, escaped where it has to
// be, and for coordinates outside of the page.
func TestSVG(t *testing.T) {
	half := .5
	f := Figure{
		Title: "returns <&>", Legend: []string{"ppo", "a2c"}, Notes: []string{"a note"},
		Rows: [][]Panel{
			{Intervals{Title: "mean", Names: true, At: &half, Rows: []Row{{"ppo", 1, 0, 2, 0}, {"a2c", 3, 3, 3, 1}}}, Intervals{Title: "median", Rows: []Row{{"ppo", 1, 0, 2, 0}}}},
			{Lines{Title: "curves", XLabel: "steps", YLabel: "return", Series: []Series{{X: []float64{0, 100_000}, Y: []float64{1, math.NaN()}}, {X: []float64{1, 2}, Y: []float64{3, 4}, Low: []float64{2, 3}, High: []float64{4, 5}, Style: 1, Steps: true}}}},
		},
	}
	var b bytes.Buffer
	if err := f.SVG(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "NaN") {
		t.Error("a coordinate is not a number")
	}
	var texts strings.Builder
	shapes := map[string]int{}
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.CharData:
			texts.Write(x)
		case xml.StartElement:
			shapes[x.Name.Local]++
		}
	}
	for _, want := range []string{"returns <&>", "ppo", "a2c", "mean", "median", "curves", "steps", "return", "a note", "100k"} {
		if !strings.Contains(texts.String(), want) {
			t.Errorf("no %q in the figure: %q", want, texts.String())
		}
	}
	if shapes["polyline"] != 4 || shapes["circle"] < 3 { // two in the legend, two curves
		t.Errorf("%v", shapes)
	}
}

// TestAxis: ticks are round numbers, written with the digits that they need.
func TestAxis(t *testing.T) {
	zero, one := 0., 1.
	for _, c := range []struct {
		values    []float64
		low, high *float64
		want      string
	}{
		{[]float64{0, 500}, nil, nil, "0 200 400 600"},
		{[]float64{-498.2, -81.5}, nil, nil, "-600 -400 -200 0"},
		{[]float64{.2, .7}, &zero, &one, "0 0.5 1.0"},
		{[]float64{0, 64_512}, nil, nil, "0 25k 50k 75k"},
		{[]float64{.0012, .0019}, nil, nil, "0.00100 0.00125 0.00150 0.00175 0.00200"},
		{[]float64{7, 7}, nil, nil, "6.5 7.0 7.5"},
		{nil, nil, nil, "0 0.5 1.0"},
		{[]float64{math.NaN(), 3, math.Inf(1), 5}, nil, nil, "3 4 5"},
	} {
		a := newAxis(c.values, c.low, c.high, 0, 150)
		var got []string
		for _, v := range a.ticks() {
			got = append(got, a.label(v))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
	a := newAxis([]float64{0, 10}, nil, nil, 100, 0)
	if a.at(0) != 100 || a.at(10) != 0 || a.at(5) != 50 || a.at(20) != 0 {
		t.Errorf("%+v", a)
	}
}

// TestStyles: the first series differ without their colours.
func TestStyles(t *testing.T) {
	var seen []style
	for i := range 20 {
		s := styleOf(i)
		s.colour = ""
		if slices.Contains(seen, s) {
			t.Errorf("series %d looks like another in grey", i)
		}
		seen = append(seen, s)
	}
}

func TestFold(t *testing.T) {
	if got := fold("some words that are many", textWidth("some words", 10), 10); !slices.Equal(got, []string{"some words", "that are", "many"}) {
		t.Errorf("%q", got)
	}
}

// TestMatrix: every number is drawn once, and none where there is none.
func TestMatrix(t *testing.T) {
	m := Matrix{
		Title: "pay <off>", Rows: "first", Cols: "second", RowNames: []string{"1", "2"}, ColNames: []string{"1", "2"},
		Cells: [][]float64{{0, -1.5}, {.25, math.NaN()}},
	}
	svg := m.SVG()
	for part, want := range map[string]int{">-1.50<": 1, ">0.25<": 1, ">0.00<": 1, "NaN": 0, "#dc2626": 1, "pay &lt;off&gt;": 2, `fill-opacity="0.75"`: 1} {
		if got := strings.Count(svg, part); got != want {
			t.Errorf("%q stands %d times in the drawing, want %d:\n%s", part, got, want, svg)
		}
	}
	if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
		t.Error(err)
	}
}
