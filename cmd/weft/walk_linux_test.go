package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/internal/launch/ray/raytest"
	"github.com/weft-rl/weft/internal/launch/slurm/slurmtest"
)

// A run that begins at home, goes on under one engine after the other and ends at home has the bits
// of the plain loop. What cannot be had here of the engines is left out of its way.
func TestSlurmRayWalk(t *testing.T) {
	if os.Getenv("WEFT_SLURM") == "" && os.Getenv("WEFT_RAY") == "" {
		t.Skip("WEFT_SLURM=1 and WEFT_RAY=PYTHON have engines started to walk to")
	}
	dir := t.TempDir()
	line, _ := do(t, dir, 0, small("ppo", longSteps, "--out", "plain")...)
	want := parse(t, line)
	ends := func(t *testing.T, p *process) {
		t.Helper()
		p.signal(os.Interrupt)
		if line, code := p.end(); code != 130 {
			t.Fatalf("exit code %d: %s\n%s", code, line, p.stderr.String())
		}
	}
	t.Run("begun at home", func(t *testing.T) {
		p := start(t, dir, small("ppo", longSteps, "--out", "walk")...)
		if !p.until(`"iteration"`, 3) {
			t.Fatalf("it ended early: %s", p.stderr.String())
		}
		ends(t, p)
	})
	walk := filepath.Join(dir, "walk")
	t.Run("on Slurm", func(t *testing.T) {
		s := slurmtest.Start(t)
		p := start(t, dir, "resume", "walk", "--on", "slurm", "--nodes", "3", "--policy", "single-learner-coarse", "--json")
		further(t, s, walk, func() {})
		ends(t, p)
	})
	t.Run("on Ray", func(t *testing.T) {
		c := raytest.Start(t)
		p := start(t, dir, "resume", "walk", "--on", "ray", "--nodes", "2", "--policy", "single-learner-coarse", "--json")
		further(t, c, walk, func() {})
		ends(t, p)
		c.Empty(t)
	})
	t.Run("on Kubernetes", func(t *testing.T) { // whose volume is another folder
		c := onKubernetes(t)
		carry(t, walk, c.Runs)
		p := start(t, dir, "resume", "walk", "--on", "kubernetes", "--nodes", "3", "--policy", "single-learner-coarse", "--kubernetes", "image=weft:test", "--kubernetes", "claim=runs", "--json")
		further(t, c, filepath.Join(c.Runs, "walk"), func() {})
		ends(t, p)
		goneJob(t, c, "walk")
		carry(t, filepath.Join(c.Runs, "walk"), dir)
	})
	t.Run("ended at home", func(t *testing.T) {
		line, _ := do(t, dir, 0, "resume", "walk", "--json")
		sameBits(t, parse(t, line), want)
	})
}

// carry copies a folder into another one.
func carry(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-r", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
