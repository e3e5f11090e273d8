package cli_test

import (
	"os"
	"strings"
	"testing"
)

// TestEngineAbsent: where an engine is not, its name is an error of one sentence with what to do,
// and nothing is left of the run.
func TestEngineAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("WEFT_PYTHON", "")
	for engine, want := range map[string]string{
		"slurm":      "there is no Slurm here: sbatch is not in PATH; run this on a login node of the cluster",
		"ray":        "name one that has Ray with WEFT_PYTHON or --ray python=PATH",
		"kubernetes": "there is no kubectl here: install it",
	} {
		t.Chdir(t.TempDir())
		args := []string{"train", "ppo", "--policy", "single-learner-coarse", "--steps", "4096", "--on", engine, "--nodes", "2"}
		if engine == "kubernetes" {
			args = append(args, "--kubernetes", "image=weft", "--kubernetes", "claim=runs")
		}
		if o := do(t, 1, args...); !strings.Contains(o.errors, want) || strings.Count(o.errors, "\n") != 1 {
			t.Errorf("%s: %+v", engine, o)
		}
		if left, _ := os.ReadDir("."); len(left) > 0 {
			t.Errorf("%s: %v is left", engine, left)
		}
	}
}
