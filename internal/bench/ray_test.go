package bench

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRay: every case is trained on the cluster with its workers, which find the environment.
func TestRay(t *testing.T) {
	var ran []string
	o := Options{Quick: true, Count: 1, Python: "no such interpreter", Whole: func(_ context.Context, args []string) (WholeRun, error) {
		ran = append(ran, strings.Join(args, " "))
		if _, err := os.Stat(filepath.Join(os.Getenv("PYTHONPATH"), "slow_env.py")); err != nil {
			t.Error(err)
		}
		return WholeRun{Steps: 100, Seconds: 1, CPU: 5}, nil
	}}
	t.Setenv("PYTHONPATH", "")
	var out bytes.Buffer
	if err := Run(t.Context(), Ray, o, Table(&out)); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(ran, "\n")
	for _, want := range []string{"--env CartPole-v1 --policy single-learner-coarse --on ray --workers 2 ", "--env gym:slow_env:Slow", "--workers 4 --eval-episodes 0 --set envs=32 "} {
		if !strings.Contains(all, want) {
			t.Errorf("no run has %q:\n%s", want, all)
		}
	}
	if text := out.String(); !strings.Contains(text, "absent: rllib") || strings.Contains(text, "CPU") {
		t.Error(text)
	}
	if left := os.Getenv("PYTHONPATH"); left != "" {
		t.Errorf("%s is left", left)
	}
}
