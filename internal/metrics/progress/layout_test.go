package progress

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weft-rl/weft/internal/metrics"
)

func midway() view {
	return view{
		Snapshot: Snapshot{
			Steps: 4_230_000, Episodes: 12_345, Return: 195.34,
			Losses: []metrics.Value{{Name: "loss/policy", X: -0.01234}, {Name: "loss/value", X: 31.4159}, {Name: "loss/entropy", X: 0.61}, {Name: "loss/fourth", X: 4}},
		},
		total: 10_000_000, rate: 12_345, elapsed: 92 * time.Second,
	}
}

func text(rows []line) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.text() + "\n")
	}
	return b.String()
}

func TestPanel(t *testing.T) {
	early := view{Snapshot: Snapshot{Return: math.NaN()}, total: 500_000, rate: math.NaN()}
	late := midway()
	late.Steps, late.rate, late.elapsed = 11_000_000, 0, 76*time.Hour
	open := midway()
	open.total = 0
	tests := []struct {
		name  string
		v     view
		width int
		g     glyphs
		want  string
	}{
		{"60", midway(), 60, boxGlyphs, `
━━━━━────────   42%  4.23M/10M  12.3k/s   1m32s   7m47s left
return 195.3    episodes 12.3k  policy -0.0123  value 31.42
entropy 0.6100
`},
		{"80", midway(), 80, boxGlyphs, `
━━━━━━━━━━━━━╸───────────────────   42%  4.23M/10M  12.3k/s   1m32s   7m47s left
return 195.3    episodes 12.3k  policy -0.0123  value 31.42    entropy 0.6100
`},
		{"140", midway(), 140, boxGlyphs, `
━━━━━━━━━━━━━━━━╸───────────────────────   42%  4.23M/10M  12.3k/s   1m32s   7m47s left
return 195.3    episodes 12.3k  policy -0.0123  value 31.42    entropy 0.6100
`},
		{"40", midway(), 40, asciiGlyphs, `
=====>--------   42%  4.23M/10M  12.3k/s
return 195.3    episodes 12.3k
policy -0.0123  value 31.42
`},
		{"early", early, 80, asciiGlyphs, `
--------------------------------    0%      0/500k      -/s    0.0s       - left
return -        episodes 0
`},
		{"late", late, 80, asciiGlyphs, `
=================================  100%    11M/10M      0/s   3d04h       - left
return 195.3    episodes 12.3k  policy -0.0123  value 31.42    entropy 0.6100
`},
		{"no total", open, 80, boxGlyphs, `
4.23M steps  12.3k/s   1m32s
return 195.3    episodes 12.3k  policy -0.0123  value 31.42    entropy 0.6100
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := "\n" + text(tt.v.panel(tt.width, tt.g)); got != tt.want {
				t.Errorf("panel%swant%s", got, tt.want)
			}
		})
	}
}

func TestFinal(t *testing.T) {
	stopped, complete := midway(), midway()
	complete.Steps = complete.total
	tests := []struct {
		name  string
		v     view
		width int
		want  string
	}{
		{"stopped", stopped, 80, "stopped at 4.23M/10M steps after 1m32s  12.3k/s  return 195.3  episodes 12.3k"},
		{"done", complete, 60, "done  10M steps in 1m32s  12.3k/s  return 195.3"},
		{"wide", complete, 140, "done  10M steps in 1m32s  12.3k/s  return 195.3  episodes 12.3k  policy -0.0123  value 31.42  entropy 0.6100"},
		{"narrow", complete, 9, "done  10M"},
	}
	for _, tt := range tests {
		if got := tt.v.final(tt.width).text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Nothing is ever wider than asked for, whatever the numbers.
func TestNeverWraps(t *testing.T) {
	odd := []float64{0, 1, -1.5e-100, math.NaN(), math.Inf(-1), math.MaxFloat64, 123456.7}
	for width := range 160 {
		for i, x := range odd {
			v := midway()
			v.Return, v.rate = x, odd[len(odd)-1-i]
			v.Losses[0] = metrics.Value{Name: "loss/a_name_that_is_longer_than_most_terminals_are_wide_" + strings.Repeat("é", 40), X: x}
			v.elapsed = time.Duration(math.MaxInt64)
			v.Steps, v.Episodes = math.MaxInt64/200, math.MaxInt64
			for _, l := range append(v.panel(width, boxGlyphs), v.final(width)) {
				if n := utf8.RuneCountInString(l.text()); n > width {
					t.Fatalf("%d columns of %d: %q", n, width, l.text())
				}
			}
		}
	}
}

func TestHome(t *testing.T) {
	s := &screen{drawn: []int{95, 80, 0}}
	for _, tt := range []struct {
		width int
		want  string
	}{{140, "\x1b[3A\r"}, {60, "\x1b[5A\r"}, {40, "\x1b[6A\r"}} {
		if got := s.home(tt.width); got != tt.want {
			t.Errorf("home(%d) = %q, want %q", tt.width, got, tt.want)
		}
	}
	if got := new(screen).home(80); got != "" {
		t.Errorf("home with nothing drawn = %q", got)
	}
}

func TestLocale(t *testing.T) {
	for _, tt := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false}, {"", "", "en_GB.UTF-8", true}, {"", "", "de_DE.utf8", true},
		{"C", "", "en_GB.UTF-8", false}, {"", "en_GB.UTF-8", "C", true},
	} {
		t.Setenv("LC_ALL", tt.all)
		t.Setenv("LC_CTYPE", tt.ctype)
		t.Setenv("LANG", tt.lang)
		if got := utf8Locale(); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestNoTerminal(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if newScreen(f, nil) != nil {
		t.Error("a file was taken for a terminal")
	}
	s := newScreen(f, columns(0))
	if got := s.width(); got != 80 {
		t.Errorf("width of a terminal that does not know its own = %d, want 80", got)
	}
}
