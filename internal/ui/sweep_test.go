package ui

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTrials: runs of a sweep say how their trials stand, and change when the table does.
func TestTrials(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "sweep", trialsFile)
	write(t, filepath.Join(dir, "sweep", "trial-000"), "CartPole-v1", 1, "0.001", 10, 100)
	write(t, filepath.Join(dir, "sweep", "trial-001", "seed1"), "CartPole-v1", 1, "0.01", 4, 50)
	write(t, filepath.Join(dir, "trial-000"), "CartPole-v1", 1, "0.01", 4, 50) // of no sweep
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(table, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"trials":[{"trial":0,"status":"finished"},{"trial":1,"status":"open"}]}`)
	s, _ := site(t, dir)
	states := func() (out []string) {
		s.Scan()
		runs, _ := s.list()
		for _, r := range runs {
			out = append(out, filepath.ToSlash(r.dir)+" "+r.Trial)
		}
		return out
	}
	expect := func(got []string, want ...string) {
		t.Helper()
		for i := range want {
			if len(got) != len(want) || got[i] != want[i] {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
	expect(states(), "sweep/trial-000 finished", "sweep/trial-001/seed1 open", "trial-000 ")
	put(`{"trials":[{"trial":0,"status":"finished"},{"trial":1,"status":"pruned"}]}`)
	expect(states(), "sweep/trial-000 finished", "sweep/trial-001/seed1 pruned", "trial-000 ")
	put(`{"trials`)
	expect(states(), "sweep/trial-000 ", "sweep/trial-001/seed1 ", "trial-000 ")
}
