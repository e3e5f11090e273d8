package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
