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
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
)

func runBench(ctx context.Context, args ...string) (code int, out, problems string) {
	set := app.Set{Algorithms: []algo.Algorithm{ppo.Algorithm}, Environments: []env.Entry{classic.CartPole}}
	var o, p bytes.Buffer
	code = cli.Run(ctx, set, append([]string{"bench"}, args...), &o, &p)
	return code, o.String(), p.String()
}

func TestBenchList(t *testing.T) {
	code, out, _ := runBench(t.Context())
	if code != 0 || !strings.Contains(out, "engine ") || !strings.Contains(out, "ppo ") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestBenchUsage(t *testing.T) {
	code, _, problems := runBench(t.Context(), "engin", "--count", "-1", "--match", "(")
	if code != 2 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{`did you mean "engine"`, "--count", "missing closing )"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is not in:\n%s", want, problems)
		}
	}
	if code, _, problems = runBench(t.Context(), "ppo", "--only", "wefft", "--match", "nothing"); code != 2 || !strings.Contains(problems, "wefft") || !strings.Contains(problems, "envs=128") {
		t.Errorf("exit code %d:\n%s", code, problems)
	}
}

// TestBenchPPO trains with Weft alone for one short turn.
func TestBenchPPO(t *testing.T) {
	args := []string{"ppo", "--quick", "--count", "1", "--only", "weft", "--match", "=4", "--json"}
	code, out, problems := runBench(t.Context(), args...)
	if code != 0 {
		t.Fatalf("exit code %d:\n%s", code, problems)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var x struct {
		Event, Contender string
		Rate             float64
	}
	if err := json.Unmarshal([]byte(lines[1]), &x); err != nil || len(lines) != 3 || x.Contender != "weft" || !(x.Rate > 0) {
		t.Errorf("%v: %+v in\n%s", err, x, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if code, _, _ := runBench(ctx, args...); code != 130 {
		t.Errorf("interrupted, the exit code is %d", code)
	}
}

// TestBenchServe: a server of this program is measured by HTTP and by gRPC, and answers all.
func TestBenchServe(t *testing.T) {
	t.Chdir(t.TempDir())
	o := do(t, 0, "bench", "serve", "--quick", "--count", "1", "--only", "weft,weft-grpc", "--match", "rate", "--json")
	all := events(t, o.out)
	if len(all) != 2 || all[0]["server"] != "weft" || all[1]["server"] != "weft-grpc" {
		t.Fatalf("%v", all)
	}
	for _, e := range all {
		if e["case"] != "rate=1000" || e["requests"] != 300. || e["failed"] != 0. || !(e["p99"].(float64) >= e["p50"].(float64)) {
			t.Errorf("%v", e)
		}
	}
	contains(t, do(t, 1, "bench", "serve", "--quick", "--only", "fastapi", "--python", "nopython").errors, "nopython")
}
