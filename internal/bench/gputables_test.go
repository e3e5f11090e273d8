package bench

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTables: every way of a table takes part in all of its cases, on the device that
// was asked for.
func TestTables(t *testing.T) {
	for name, ways := range map[string]int{"policies": len(gpuWays), "tag": 1} {
		b, err := GPU.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		b.turn = turn{1, 1}
		ran := map[string]int{}
		o := Options{Count: 1, On: "abacus", Loop: func(ctx context.Context, l LoopSpec, w LoopWay, device string, after func()) error {
			if device != "abacus" || !slices.ContainsFunc(l.Set, func(s string) bool { return strings.HasPrefix(s, "envs=") }) {
				t.Errorf("%+v on %s", l, device)
			}
			ran[w.Name+" "+w.Path]++
			for ctx.Err() == nil {
				after()
			}
			return ctx.Err()
		}}
		var out bytes.Buffer
		if err := Run(t.Context(), b, o, Table(&out)); err != nil {
			t.Fatal(err)
		}
		if len(ran) != ways {
			t.Errorf("%s: %v took part, want %d", name, ran, ways)
		}
		for way, n := range ran {
			want := len(b.IDs(false))
			if name == "policies" && strings.HasPrefix(way, "gpu-only") {
				want-- // an environment of the host's is no part of a device program
			}
			if n != want {
				t.Errorf("%s: %s took part in %d cases of %d", name, way, n, want)
			}
		}
	}
	if _, err := GPU.Table("stools"); err == nil || !strings.Contains(err.Error(), "policies, tag") {
		t.Errorf("error %v", err)
	}
	if _, err := PPO.Table("tag"); err == nil || !strings.Contains(err.Error(), "one table") {
		t.Errorf("error %v", err)
	}
}

// slow is a contender that comes to its limit in run number n.
type slow struct {
	*inProcess
	n int
}

func (s *slow) Run() error {
	if s.n--; s.n == 0 {
		s.stop(errLate)
	}
	return s.until.Err()
}

func (*slow) Close() {}

// TestLimit: who takes too long over a case is stopped, and what was seen of it counts;
// who was not warm by then has no time.
func TestLimit(t *testing.T) {
	for n, seen := range map[int]int{1: 0, 2: 0, 3: 0, 4: 1, 1 << 62: 2} {
		s := &slow{n: n}
		s.inProcess = &inProcess{warm: 2, limit: time.Hour, make: func(context.Context, Case) (program, error) { return s, nil }}
		r := measure(t.Context(), Case{}, []Contender{s}, 2, time.Millisecond)[0]
		if len(r.Seconds) != seen || failed(r) == (seen > 0) || seen == 0 && !errors.Is(r.Err, errLate) {
			t.Errorf("late in run %d: %d rounds, want %d (%v)", n, len(r.Seconds), seen, r.Err)
		}
	}
}
