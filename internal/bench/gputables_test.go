package bench

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
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
			if n != len(b.IDs(false)) {
				t.Errorf("%s: %s took part in %d cases of %d", name, way, n, len(b.IDs(false)))
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
