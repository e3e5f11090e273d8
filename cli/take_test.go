package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/internal/run/checkpoint"
)

// TestExport: a run's policy is written under the run's name or another, and the command says of
// which step it is. What the numbers are is tested in package export.
func TestExport(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "runs/tiny")...)
	if o := do(t, 0, "export", "runs/tiny"); !strings.HasPrefix(o.out, "wrote tiny.onnx: the greedy policy of ppo on Identity-v0, best weights of step 256") {
		t.Errorf("%s", o.out)
	}
	model, err := os.ReadFile("tiny.onnx")
	if err != nil || !strings.Contains(string(model), "net/policy/hidden_0/weights") {
		t.Errorf("the model has not the weights: %v", err)
	}
	do(t, 0, "export", "runs/tiny", "--format", "safetensors", "--newest", "--out", filepath.Join("runs", "x.safetensors"))
	weights, err := checkpoint.ReadForeign(filepath.Join("runs", "x.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := weights.Array("net/policy/out/biases"); !ok || !strings.Contains(weights.Meta["policy"], "newest weights of step 256") {
		t.Errorf("%v", weights.Meta)
	}
	var shape struct {
		Format string
		Arrays []string
		Graph  []struct{ Op string }
	}
	text, err := os.ReadFile(filepath.Join("runs", "x.json"))
	if err == nil {
		err = json.Unmarshal(text, &shape)
	}
	if err != nil || shape.Format != "weft-policy-1" || len(shape.Arrays) != len(weights.Arrays) || len(shape.Graph) < 8 {
		t.Errorf("%+v, %v", shape, err)
	}
}

// TestWithoutData: a policy that learned from a data set is exported and evaluated where the set is
// not, in the same bits; to go on learning the set is needed.
func TestWithoutData(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "expert")...)
	do(t, 0, "record", "expert", "--episodes", "4", "--out", "expert.parquet")
	do(t, 0, "train", "bc", "--env", "Identity-v0", "--data", "expert.parquet", "--steps", "20", "--eval-episodes", "4", "--set", "hidden=8", "--set", "batch=8", "--out", "learned")
	do(t, 0, "export", "learned", "--out", "with.onnx")
	if err := os.Remove("expert.parquet"); err != nil {
		t.Fatal(err)
	}
	do(t, 0, "export", "learned", "--out", "without.onnx")
	if read(t, "with.onnx") != read(t, "without.onnx") {
		t.Error("the policy is another one without its data")
	}
	do(t, 0, "eval", "learned", "--episodes", "4")
	if o := run(t.Context(), weft.Builtin(), "resume", "learned", "--steps", "40"); o.code == 0 || !strings.Contains(o.errors, "expert.parquet") {
		t.Errorf("resumed without data: %d %s", o.code, o.errors)
	}
}

// TestExportRefused: what cannot be exported gets a sentence.
func TestExportRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"nothing is not a run folder":     {"export", "nothing"},
		`did you mean "onnx"?`:            {"export", "nothing", "--format", "onx"},
		"--best and --newest: choose one": {"export", "nothing", "--best", "--newest"},
		"takes one run folder":            {"export"},
	} {
		if o := do(t, 2, args...); !strings.Contains(o.errors, want) {
			t.Errorf("weft %s: %s", strings.Join(args, " "), o.errors)
		}
	}
}

// started runs a server in this process until the test has asked it something, and returns where it
// is.
func started(t *testing.T, args ...string) (address string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	code := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		code <- cli.Run(ctx, weft.Builtin(), args, out, &errs)
		_ = out.Close()
	}()
	line, err := bufio.NewReader(in).ReadString('\n')
	go func() { _, _ = io.Copy(io.Discard, in) }()
	if err != nil {
		cancel()
		<-code
		t.Fatalf("weft %s: %s", strings.Join(args, " "), errs.String())
	}
	_, rest, _ := strings.Cut(line, "http://")
	address, _, _ = strings.Cut(strings.TrimSpace(rest), "/")
	return "http://" + address, func() int {
		cancel()
		http.DefaultClient.CloseIdleConnections()
		return <-code
	}
}

// TestServe: a server of two policies answers for both, counts, and ends well.
func TestServe(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "runs/tiny")...)
	at, stop := started(t, "serve", "runs/tiny", "other=runs/tiny", "--listen", "127.0.0.1:0")
	for _, path := range []string{"/v1/act", "/v1/policies/other/act"} {
		a, err := http.Post(at+path, "application/json", strings.NewReader(`{"obs": [0, 1, 0, 0]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if err != nil || a.StatusCode != http.StatusOK || !strings.Contains(string(text), `"version":256`) {
			t.Errorf("%s: %d %s %v", path, a.StatusCode, text, err)
		}
	}
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ok", "/metrics": `weft_policy_requests_total{policy="other",status="200"} 1`, "/v1/policies": `"name":"tiny"`,
	} {
		if _, got := fetch(t, at, path); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestUI: the page shows the runs of a folder, with the graph of the loop and the plan.
func TestUI(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "runs/tiny", "--policy", "single-learner-coarse")...)
	at, stop := started(t, "ui", "--listen", "127.0.0.1:0")
	for path, want := range map[string]string{
		"/": "<title>Weft: runs</title>", "/api/runs": `"name":"runs/tiny","steps":256,"budget":256`, "/api/graph?run=0:tiny": "<svg", "/api/plan?run=0:tiny": "<svg",
	} {
		if _, got := fetch(t, at, path); !strings.Contains(got, want) {
			t.Errorf("%s: %.300s", path, got)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestUIConfined: the page makes no plan of a run that names a program or a file elsewhere, and a
// recorder of a run writes nothing.
func TestUIConfined(t *testing.T) {
	t.Chdir(t.TempDir())
	away := filepath.Join(t.TempDir(), "away")
	do(t, 0, tiny("--out", "runs/tiny", "--policy", "single-learner-coarse")...)
	text := read(t, "runs/tiny/config.yaml")
	for name, more := range map[string]string{"storage": "storage: disk:" + away, "program": "python: " + away, "wrap": "wrap: record=episodes.jsonl"} {
		if err := os.MkdirAll("runs/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
		key, _, _ := strings.Cut(more, ":")
		put(t, "runs/"+name+"/config.yaml", regexp.MustCompile(`(?m)^`+key+`:.*$`).ReplaceAllLiteralString(text, more))
	}
	at, stop := started(t, "ui", "--listen", "127.0.0.1:0")
	for path, want := range map[string]string{"storage": "outside of the folders shown", "program": "names a program", "wrap": "<svg"} {
		if _, got := fetch(t, at, "/api/plan?run=0:"+path); !strings.Contains(got, want) {
			t.Errorf("%s: %.300s", path, got)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	absent(t, away)
	absent(t, "episodes.jsonl")
	absent(t, "runs/wrap/episodes.jsonl")
}

// TestServersRefused: what cannot be served gets a sentence, before anything listens.
func TestServersRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "runs/tiny")...)
	if err := os.WriteFile("empty", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"nothing is not a run folder":    {"serve", "nothing"},
		`two policies are called "tiny"`: {"serve", "runs/tiny", "runs/tiny"},
		"--versions: 0 is not":           {"serve", "runs/tiny", "--versions", "0"},
		"--reload: -1s is not a time":    {"serve", "runs/tiny", "--reload", "-1s"},
		"empty is empty: write a secret": {"serve", "runs/tiny", "--token", "empty"},
		"--listen: listen tcp: address":  {"serve", "runs/tiny", "--listen", "127.0.0.1:99999"},
		"name the folders of runs":       {"serve"},
		"nowhere cannot be shown":        {"ui", "nowhere"},
		"--every: 0s is not a time":      {"ui", "runs", "--every", "0s"},
	} {
		if o := do(t, 2, args...); !strings.Contains(o.errors, want) {
			t.Errorf("weft %s: %s", strings.Join(args, " "), o.errors)
		}
	}
}

// TestPlot: curves of groups of runs are drawn, a panel a task.
func TestPlot(t *testing.T) {
	recorded(t, "Easy", "Hard")
	if o := do(t, 0, "plot", "runs", "--out", "x.svg"); o.out != "drew eval/return of 20 runs into x.svg\n" {
		t.Errorf("%q", o.out)
	}
	text, err := os.ReadFile("x.svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">Easy<", ">Hard<", ">good<", ">poor<", "steps", "eval/return", "Interquartile mean"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the figure has no %s", want)
		}
	}
	for want, args := range map[string][]string{
		"--smooth: 1 is not":       {"plot", "runs", "--smooth", "1"},
		`has no metric "eval/ret`:  {"plot", "runs", "--metric", "eval/retur"},
		"name the folders of runs": {"plot"},
		"--level: 2 is not":        {"plot", "runs", "--level", "2"},
	} {
		if o := do(t, 2, args...); !strings.Contains(o.errors, want) {
			t.Errorf("weft %s: %s", strings.Join(args, " "), o.errors)
		}
	}
}

// TestMetrics: a run's record is one table.
func TestMetrics(t *testing.T) {
	recorded(t, "Easy")
	if o := do(t, 0, "metrics", "runs/good-Easy/seed2"); o.out != "step,iter,seconds,eval/return\n50,1,1,10\n100,2,2,482\n" {
		t.Errorf("%q", o.out)
	}
	do(t, 0, "metrics", "runs/good-Easy/seed2", "--format", "parquet", "--out", "x.parquet")
	if text := read(t, "x.parquet"); !strings.HasPrefix(text, "PAR1") || !strings.HasSuffix(text, "PAR1") || !strings.Contains(text, "eval/return") {
		t.Errorf("x.parquet is no Parquet file of the run: %q", text)
	}
	do(t, 0, "metrics", "runs/good-Easy/seed2", "--out", "x.jsonl")
	text, err := os.ReadFile("x.jsonl")
	if want := `{"step":50,"iter":1,"seconds":1,"eval/return":10}` + "\n" + `{"step":100,"iter":2,"seconds":2,"eval/return":482}` + "\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
	for want, args := range map[string][]string{
		"name one with --out": {"metrics", "runs/good-Easy/seed2", "--format", "parquet"},
		`did you mean "csv"?`: {"metrics", "runs/good-Easy/seed2", "--format", "cvs"},
		"is not a run folder": {"metrics", "runs"},
	} {
		if o := do(t, 2, args...); !strings.Contains(o.errors, want) {
			t.Errorf("weft %s: %s", strings.Join(args, " "), o.errors)
		}
	}
}
