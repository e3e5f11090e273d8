package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
)

// rate returns a result's work per second.
func rate(c Case, r Result) float64 { return c.Work / r.Median() }

// failed reports whether a result holds no measurement.
func failed(r Result) bool { return r.Err != nil || len(r.Seconds) == 0 }

// ratio returns how many times as long as the first contender another takes.
func ratio(results []Result, i int) (x float64, ok bool) {
	if i == 0 || failed(results[0]) || failed(results[i]) {
		return 0, false
	}
	return results[i].Median() / results[0].Median(), true
}

// best returns the fastest contender that has another name than the first.
func best(results []Result) (x Result, ok bool) {
	for _, r := range results[min(1, len(results)):] {
		if r.Name != results[0].Name && !failed(r) && (!ok || r.Median() < x.Median()) {
			x, ok = r, true
		}
	}
	return x, ok
}

// Table writes results as a table for people.
func Table(w io.Writer) Reporter { return &table{w: w, sum: versus} }

type table struct {
	w       io.Writer
	heading string // of the summary
	sum     func([]Result) string
}

const row = "  %-16s %-9s %10s %6s %18s %11s\n"

func (t *table) Begin(b Benchmark, present []Label, absent []Absence) {
	t.heading = "How many times as fast as the best other; with threads, two as one:"
	if b.summary != nil {
		t.heading, t.sum = b.heading, b.summary
	}
	fmt.Fprintf(t.w, "%s: %s\n%s/%s, %d cores, %s\n", b.Name, b.Doc, runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version())
	for _, a := range absent {
		fmt.Fprintf(t.w, "absent: %s (%s): %s\n", a.Name, a.Why, a.Install)
	}
	fmt.Fprintln(t.w)
	fmt.Fprintf(t.w, row, "", "through", "time", "spread", "rate", "time ratio")
}

func (t *table) Case(c Case, results []Result) {
	fmt.Fprintln(t.w, c.Title)
	for i, r := range results {
		name := strings.TrimSpace(r.Name + " " + r.Version)
		if failed(r) {
			fmt.Fprintf(t.w, "  %-16s %-9s %v\n", name, r.Path, r.Err)
			continue
		}
		times := ""
		if x, ok := ratio(results, i); ok {
			times = digits(x) + "x"
		}
		if len(r.CPU) > 0 {
			times += "  CPU " + duration(slices.Min(r.CPU))
		}
		fmt.Fprintf(t.w, row, name, r.Path, duration(r.Median()), spread(r), digits(rate(c, r))+" "+c.Unit, times)
	}
}

func (t *table) End(all []CaseResults) {
	fmt.Fprintf(t.w, "\n%s\n", t.heading)
	for _, x := range all {
		if text := t.sum(x.Results); text != "" {
			fmt.Fprintf(t.w, "  %-72s %s\n", x.Case.Title, text)
		}
	}
}

// versus compares the first contender with the best of another name, or one thread with two.
func versus(results []Result) string {
	text := scaling(results)
	if other, ok := best(results); ok && text == "" && !failed(results[0]) {
		text = fmt.Sprintf("%s %sx (%s)", results[0].Name, digits(other.Median()/results[0].Median()), other.Name)
	}
	return text
}

func spread(r Result) string {
	if len(r.Seconds) < 2 {
		return "once"
	}
	return fmt.Sprintf("±%.0f%%", 100*r.Spread())
}

// Lines writes results for programs, one JSON object a line.
func Lines(w io.Writer) Reporter { return &lines{out: json.NewEncoder(w)} }

type lines struct {
	out  *json.Encoder
	name string
}

func (l *lines) Begin(b Benchmark, present []Label, absent []Absence) {
	l.name = b.Name
	l.emit(struct {
		Event   string    `json:"event"`
		Name    string    `json:"benchmark"`
		Present []Label   `json:"present"`
		Absent  []Absence `json:"absent"`
	}{"begin", b.Name, present, absent})
}

// emit writes an event. It ignores errors: if nobody reads the output, the run ends by itself.
func (l *lines) emit(event any) { _ = l.out.Encode(event) }

func (l *lines) Case(c Case, results []Result) {
	for i, r := range results {
		line := struct {
			Event string `json:"event"`
			Case  string `json:"case"`
			Title string `json:"title"`
			Label
			Seconds float64   `json:"seconds,omitempty"`
			Spread  float64   `json:"spread,omitempty"`
			Samples []float64 `json:"samples,omitempty"`
			CPU     []float64 `json:"cpu,omitempty"`
			Rate    float64   `json:"rate,omitempty"`
			Unit    string    `json:"unit"`
			Ratio   float64   `json:"ratio,omitempty"`
			Error   string    `json:"error,omitempty"`
		}{Event: "result", Case: c.ID, Title: c.Title, Label: r.Label, Unit: c.Unit}
		if failed(r) {
			line.Error = fmt.Sprint(r.Err)
		} else {
			line.Seconds, line.Spread, line.Samples, line.CPU, line.Rate = r.Median(), r.Spread(), r.Seconds, r.CPU, rate(c, r)
			line.Ratio, _ = ratio(results, i)
		}
		l.emit(line)
	}
}

func (l *lines) End(all []CaseResults) {
	l.emit(struct {
		Event string `json:"event"`
		Name  string `json:"benchmark"`
		Cases int    `json:"cases"`
	}{"done", l.name, len(all)})
}

// duration formats seconds with three digits.
func duration(s float64) string {
	switch {
	case s < 1e-3:
		return digits(s*1e6) + " us"
	case s < 1:
		return digits(s*1e3) + " ms"
	}
	return digits(s) + " s"
}

// digits formats a number with three digits, or more if they are before the decimal point.
func digits(x float64) string {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return fmt.Sprint(x)
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(x))))
	whole, fraction, _ := strings.Cut(fmt.Sprintf("%.*f", decimals, x), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}
