package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/cli"
)

// fixtures are the analyser's.
const fixtures = "../internal/compile/analyze/testdata/"

func TestCheckAndGraph(t *testing.T) {
	for _, c := range []struct {
		args     string
		code     int
		out, err string // parts of what is printed, separated by bars
	}{
		{"check ppo", 0, ":24: note: if run.Value", ""},
		{"check --quiet ppo", 0, "", ""},
		{"check ./" + fixtures + "module", 0, "", ""},
		{"check ./" + fixtures + "src/findings/goroutine ./" + fixtures + "src/findings/closure", 1, "closure.go:18:8|goroutine.go:18:3: a goroutine hides", ""},
		{"check pqo", 2, "", `did you mean "ppo"`},
		{"check ./nowhere", 1, "", "nowhere"},
		{"check", 2, "", "requires at least 1 arg"},
		{"graph ppo", 0, "1 observe [environment] t.Env.Obs()", ""},
		{"graph ppo --format dot", 0, "digraph", ""},
		{"graph ppo --format svg", 0, "<svg", ""},
		{"graph ppo --format tree", 0, "obs = t.Env.Obs() // operation", ""},
		{"graph ./" + fixtures + "src/findings/goroutine --format tree", 1, "", "a goroutine hides"},
		{"graph ppo --format json", 0, `"train": "(*Trainer).Train"`, ""},
		{"graph ./" + fixtures + "module", 0, "graph example.com/author", ""},
		{"graph ppo --format jsn", 2, "", `did you mean "json"`},
		{"graph ../rl", 1, "", "not one package with a function marked //weft:train"},
	} {
		var out, err bytes.Buffer
		set := app.Set{Algorithms: []algo.Algorithm{ppo.Algorithm}}
		code := cli.Run(context.Background(), set, strings.Fields(c.args), &out, &err)
		if code != c.code || !hasAll(out.String(), c.out) || !hasAll(err.String(), c.err) {
			t.Errorf("weft %s: code %d, want %d\nout: %s\nerr: %s", c.args, code, c.code, &out, &err)
		}
		if c.out == "" && out.Len() > 0 {
			t.Errorf("weft %s: printed %s", c.args, &out)
		}
		if strings.Contains(c.args, "json") && code == 0 && !json.Valid(out.Bytes()) {
			t.Errorf("weft %s: no JSON", c.args)
		}
	}
}

// hasAll reports whether a text has all parts of a list that bars separate.
func hasAll(text, parts string) bool {
	for part := range strings.SplitSeq(parts, "|") {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}
