package bench

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// fake is a contender that takes the times it is told.
type fake struct {
	Label
	once, each float64 // seconds of a run when preparing, when measuring
	fail       error
	log        *[]string
}

type contender struct{ *fake }

func (c contender) Label() Label { return c.fake.Label }

func (c contender) Prepare(context.Context, Case) (Sample, error) {
	*c.log = append(*c.log, "prepare "+c.Name)
	return Sample{Calls: 1, Seconds: c.once}, c.fail
}

func (c contender) Measure(context.Context, time.Duration) (Sample, error) {
	*c.log = append(*c.log, c.Name)
	c.each++ // so that rounds differ
	return Sample{Calls: 2, Seconds: 2 * c.each}, nil
}

func (c contender) Release() { *c.log = append(*c.log, "release "+c.Name) }

func fakes(log *[]string) []Contender {
	return []Contender{
		contender{&fake{Label: Label{Name: "a", Path: "lean"}, log: log}},
		contender{&fake{Label: Label{Name: "slow"}, once: 100, log: log}},
		contender{&fake{Label: Label{Name: "broken"}, fail: errors.New("out of order"), log: log}},
		contender{&fake{Label: Label{Name: "other"}, fail: errNoPart, log: log}},
		contender{&fake{Label: Label{Name: "b"}, each: 3, log: log}},
	}
}

func TestMeasure(t *testing.T) {
	var log []string
	results := measure(t.Context(), Case{}, fakes(&log), 3, time.Second)
	want := "prepare a,prepare slow,prepare broken,prepare other,prepare b,a,b,b,a,a,b," +
		"release a,release slow,release broken,release other,release b"
	if got := strings.Join(log, ","); got != want {
		t.Errorf("order\n%s\nwant\n%s", got, want)
	}
	var names []string
	for _, r := range results {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "a slow broken b" {
		t.Errorf("results of %s", got)
	}
	if got := results[0].Seconds; !slices.Equal(got, []float64{1, 2, 3}) {
		t.Errorf("a took %v", got)
	}
	if got := results[1].Seconds; !slices.Equal(got, []float64{100}) {
		t.Errorf("the slow one took %v, want its first run alone", got)
	}
	if results[2].Err == nil {
		t.Error("the broken one has no error")
	}
}

func TestStatistics(t *testing.T) {
	for _, c := range []struct {
		seconds        []float64
		median, spread float64
	}{
		{nil, 0, 0}, {[]float64{3}, 3, 0}, {[]float64{4, 1, 2}, 2, .75}, {[]float64{4, 1, 2, 3}, 2.5, .6},
	} {
		r := Result{Seconds: c.seconds}
		if r.Median() != c.median || r.Spread() != c.spread {
			t.Errorf("%v: median %v, spread %v; want %v, %v", c.seconds, r.Median(), r.Spread(), c.median, c.spread)
		}
	}
}

func TestRepeat(t *testing.T) {
	n := 0
	run := func() error { n++; return nil }
	if s, err := repeat(t.Context(), run, 0, 5); err != nil || s.Calls != 5 || n != 5 {
		t.Errorf("%+v after %d runs, %v", s, n, err)
	}
	if s, err := repeat(t.Context(), run, time.Millisecond, 1); err != nil || s.Seconds < 1e-3 || s.Calls != n-5 {
		t.Errorf("%+v after %d runs, %v", s, n, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := repeat(ctx, run, time.Hour, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped turn ends with %v", err)
	}
}

// sham returns a benchmark of two cases, with fake contenders.
func sham(log *[]string) Benchmark {
	return Benchmark{
		Name: "sham", Doc: "nothing at all", names: []string{"a", "b"},
		cases: func(bool) []Case {
			return []Case{{ID: "one", Title: "case one", Work: 4000, Unit: "steps/s"}, {ID: "two", Title: "case two", Work: 1, Unit: "steps/s"}}
		},
		contenders: func(context.Context, Options) (field, error) {
			f := field{present: fakes(log), close: func() error { *log = append(*log, "close"); return nil }}
			f.absent = []Absence{{"c", "not found", "pip install c"}}
			return f, nil
		},
		turn: turn{time.Second, time.Second},
	}
}

func TestTable(t *testing.T) {
	var log []string
	var out strings.Builder
	o := Options{Count: 3, Match: regexp.MustCompile("one")}
	if err := Run(t.Context(), sham(&log), o, Table(&out)); err != nil {
		t.Fatal(err)
	}
	if log[len(log)-1] != "close" {
		t.Errorf("the contenders were not closed: %q", log)
	}
	_, got, _ := strings.Cut(out.String(), "absent")
	want := `: c (not found): pip install c

                   through         time spread               rate  time ratio
case one
  a                lean          2.00 s   ±50%      2,000 steps/s            
  slow                            100 s   once       40.0 steps/s       50.0x
  broken                     out of order
  b                              5.00 s   ±20%        800 steps/s       2.50x

How many times as fast as the best other; with threads, two as one:
  case one                                                                 a 2.50x (b)
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLines(t *testing.T) {
	var log []string
	var out strings.Builder
	if err := Run(t.Context(), sham(&log), Options{Count: 1}, Lines(&out)); err != nil {
		t.Fatal(err)
	}
	var events []string
	for line := range strings.Lines(out.String()) {
		var x struct {
			Event, Case, Contender, Error string
			Ratio                         float64
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events = append(events, x.Event)
		if x.Case == "one" && x.Contender == "b" && x.Ratio != 4 {
			t.Errorf("b's ratio is %v", x.Ratio)
		}
		if (x.Contender == "broken") != (x.Error != "") {
			t.Errorf("error %q of %q", x.Error, x.Contender)
		}
	}
	if got := strings.Join(events, " "); got != "begin"+strings.Repeat(" result", 8)+" done" {
		t.Errorf("events: %s", got)
	}
}

func TestCheck(t *testing.T) {
	var log []string
	err := Run(t.Context(), sham(&log), Options{Match: regexp.MustCompile("three"), Only: []string{"a", "d"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "one, two") || !strings.Contains(err.Error(), `"d"`) {
		t.Errorf("wrong options give %v", err)
	}
	if len(log) > 0 {
		t.Errorf("something was started: %q", log)
	}
}

func TestScaling(t *testing.T) {
	results := []Result{
		{Label: Label{Name: "a", Path: onThreads(1)}, Seconds: []float64{3}},
		{Label: Label{Name: "a", Path: onThreads(2)}, Seconds: []float64{2}},
		{Label: Label{Name: "b", Path: onThreads(1)}, Seconds: []float64{3}},
		{Label: Label{Name: "b", Path: onThreads(2)}, Err: errors.New("broken")},
	}
	if got := scaling(results); got != "a 1.50x" {
		t.Errorf("scaling is %q", got)
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", .01234: "0.0123", 1: "1.00", 12.34: "12.3", 999.4: "999", 1234: "1,234", 1234567.8: "1,234,568",
	} {
		if got := digits(x); got != want {
			t.Errorf("%v is %q, want %q", x, got, want)
		}
	}
	for s, want := range map[float64]string{2e-6: "2.00 us", 3.5e-3: "3.50 ms", 12: "12.0 s"} {
		if got := duration(s); got != want {
			t.Errorf("%v seconds are %q, want %q", s, got, want)
		}
	}
}
