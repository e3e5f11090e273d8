package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// doneFields lists the fields of a run's last event, in their order.
var doneFields = []string{
	"event", "algorithm", "env", "policy", "workers", "seed", "steps", "seconds", "steps_per_second",
	"episodes", "return_mean", "weights_sha256", "state_sha256", "out",
}

// keys returns the names of a JSON object's fields, in their order.
func keys(t *testing.T, line string) (out []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	depth := 0
	name := true
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			continue
		}
		if depth == 1 {
			if name {
				out = append(out, tok.(string))
			}
			name = !name
		}
	}
}

func lastLine(out string) string {
	all := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return all[len(all)-1]
}

var sha = regexp.MustCompile(`^[0-9a-f]{64}$`)

func TestDoneEvent(t *testing.T) {
	t.Chdir(t.TempDir())
	o := do(t, 0, tiny("--json", "--out", "there", "--seed", "7")...)
	if o.errors != "" {
		t.Errorf("standard error: %q", o.errors)
	}
	if got := keys(t, lastLine(o.out)); !slices.Equal(got, doneFields) {
		t.Errorf("fields %q, want %q", got, doneFields)
	}
	e := last(t, o)
	for k, want := range map[string]any{
		"event": "done", "algorithm": "ppo", "env": "Identity-v0", "policy": "plain", "workers": 1., "seed": 7.,
		"steps": 256., "episodes": 16., "out": "there",
	} {
		if e[k] != want {
			t.Errorf("%s is %v, want %v", k, e[k], want)
		}
	}
	for _, k := range []string{"weights_sha256", "state_sha256"} {
		if s, _ := e[k].(string); !sha.MatchString(s) {
			t.Errorf("%s is %v", k, e[k])
		}
	}
	for _, k := range []string{"seconds", "steps_per_second", "return_mean"} {
		if x, _ := e[k].(float64); x <= 0 {
			t.Errorf("%s is %v", k, e[k])
		}
	}
	var kinds []string
	for _, e := range events(t, o.out) {
		kinds = append(kinds, e["event"].(string))
	}
	if got := strings.Join(kinds, " "); got != "begin iteration iteration iteration iteration eval done" {
		t.Errorf("events: %s", got)
	}
}

// No episode has ended yet: there is no return, not a return of zero.
func TestReturnOfNoEpisode(t *testing.T) {
	t.Chdir(t.TempDir())
	o := do(t, 0, "train", "ppo", "--env", "Pendulum-v1", "--steps", "64", "--eval-episodes", "0", "--json",
		"--set", "envs=4", "--set", "horizon=16")
	if x, ok := last(t, o)["return_mean"]; !ok || x != nil {
		t.Errorf("return_mean is %v, present %v", x, ok)
	}
	contains(t, o.out, `"return_mean":null`)
}

func TestInterruptedEvent(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := last(t, do(t, 0, tiny("--json", "--out", "whole")...))
	o := interrupt(t, `"iteration"`, 2, tiny("--json", "--out", "broken")...)
	e := last(t, o)
	if e["event"] != "interrupted" || e["steps"] != 128. || e["out"] != "broken" {
		t.Errorf("%v", e)
	}
	if got := keys(t, lastLine(o.out)); !slices.Equal(got, doneFields) {
		t.Errorf("fields %q", got)
	}
	resumed := last(t, do(t, 0, "resume", "broken", "--json"))
	for _, k := range []string{"event", "steps", "episodes", "return_mean", "weights_sha256", "state_sha256"} {
		if resumed[k] != whole[k] {
			t.Errorf("%s is %v after resuming, want %v", k, resumed[k], whole[k])
		}
	}
}

func TestFailingEvent(t *testing.T) {
	t.Chdir(t.TempDir())
	o := do(t, 1, tiny("--json", "--set", "learning_rate=1e30")...)
	e := last(t, o)
	if e["event"] != "error" {
		t.Errorf("last event %v", e)
	}
	contains(t, fmt.Sprint(e["error"]), "step 64", "loss")
	contains(t, o.errors, "weft: ", "step 64", "loss")
}

// What cannot be written does not stop a run: nobody may be watching any more.
func TestNobodyWatches(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{tiny("--json"), tiny(), tiny("--seeds", "2")} {
		if code := runInto(t, broken{}, args...); code != 0 {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// In a pipe a person gets plain lines.
func TestPlainLines(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		tiny("--out", "one", "--eval-every", "128"), {"resume", "one"}, {"eval", "one", "--episodes", "3"}, tiny("--seeds", "2"),
		{"list", "envs"}, {"list", "algorithms", "ppo"}, {"train", "ppo", "--help"},
	} {
		o := do(t, 0, args...)
		if o.out == "" || o.errors != "" {
			t.Errorf("%q: output %q, errors %q", args, o.out, o.errors)
		}
		for i, r := range o.out {
			if unicode.IsControl(r) && r != '\n' || r == unicode.ReplacementChar {
				t.Errorf("%q: control character %q at %d", args, r, i)
				break
			}
		}
	}
}

// aimless is an algorithm without parameters.
type aimless struct {
	scope *rl.Scope
	env   env.Batch
}

func (a aimless) Train(run *rl.Run) error {
	for run.Next() {
		rows := a.env.Spec().Rows
		a.env.Step(rl.One(rl.FromFlat(a.scope, make([]int32, rows), rows)))
	}
	return run.Err()
}

func (a aimless) Agent() rl.Agent { return nil }

// The weights of an algorithm without parameters have no hash, rather than that of nothing.
func TestNoWeights(t *testing.T) {
	t.Chdir(t.TempDir())
	set := weft.Builtin()
	set.Algorithms = append(set.Algorithms, algo.Define("aimless", "", nil, func(s *rl.Scope, m algo.MakeEnv, _ *struct{}) (rl.Trainer, error) {
		e, err := m.Batch(4)
		return aimless{s, e}, err
	}))
	args := []string{"train", "aimless", "--env", "Identity-v0", "--steps", "64", "--eval-episodes", "0"}
	for _, more := range [][]string{{"--json"}, {"--json", "--seeds", "2"}} {
		o := run(t.Context(), set, append(args, more...)...)
		if o.code != 0 {
			t.Fatalf("%+v", o)
		}
		e := last(t, o)
		if _, there := e["weights_sha256"]; there || !sha.MatchString(fmt.Sprint(e["state_sha256"])) {
			t.Errorf("%v", e)
		}
	}
	contains(t, run(t.Context(), set, args...).out, "no weights  state ")
}
