//go:build unix

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-rl/weft/internal/metrics"
)

// split returns a run of several learners, so that its bits depend on how its environments are
// split.
func split(more ...string) []string {
	return append([]string{
		"train", "ppo", "--env", "CartPole-v1", "--policy", "multi-learner", "--steps", "196608", "--checkpoint-steps", "2048", "--eval-episodes", "4", "--json",
		"--set", "envs=4", "--set", "horizon=16", "--set", "hidden=16", "--set", "epochs=1", "--set", "minibatches=2",
	}, more...)
}

// whole returns how a run of two learners ended that nothing happened to, and its folder. It is
// done once for all tests, beside the binary, which is there until the last of them.
func whole(t *testing.T) (event, string) {
	t.Helper()
	if undisturbed.Event == "" {
		if _, err := binary(); err != nil {
			t.Fatal(err)
		}
		line, _ := do(t, built, 0, split("--workers", "2", "--out", "whole")...)
		undisturbed = parse(t, line)
	}
	return undisturbed, filepath.Join(built, "whole")
}

var undisturbed event

// sameRecord compares what two runs recorded, but for times and edges.
func sameRecord(t *testing.T, dir, want string) {
	t.Helper()
	read := func(dir string) (out []metrics.Row) {
		rows, err := metrics.ReadJSONL(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			kept := metrics.Row{Step: r.Step, Iter: r.Iter}
			for _, v := range r.Values {
				if strings.HasPrefix(v.Name, "loss/") || strings.HasPrefix(v.Name, "ep") || strings.HasPrefix(v.Name, "ev") {
					kept.Values = append(kept.Values, v)
				}
			}
			out = append(out, kept)
		}
		return out
	}
	a, b := read(dir), read(want)
	if len(a) != len(b) {
		t.Fatalf("%d lines are recorded, want %d", len(a), len(b))
	}
	for i := range a {
		if a[i].Step != b[i].Step || a[i].Iter != b[i].Iter || len(a[i].Values) != len(b[i].Values) {
			t.Fatalf("line %d is %+v, want %+v", i, a[i], b[i])
		}
		for j, v := range a[i].Values {
			if v != b[i].Values[j] {
				t.Fatalf("line %d has %+v, want %+v", i, v, b[i].Values[j])
			}
		}
	}
}

// iterations returns the numbers of a run's iteration events, by iteration.
func iterations(t *testing.T, dir string, args ...string) map[int64]map[string]float64 {
	t.Helper()
	p := start(t, dir, args...)
	out := map[int64]map[string]float64{}
	for p.until(`"event":"iteration"`, 1) {
		var e struct {
			Iter    int64
			Metrics map[string]float64
		}
		if err := json.Unmarshal(p.lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out[e.Iter] = e.Metrics
	}
	if _, code := p.end(); code != 0 {
		t.Fatal(p.stderr.String())
	}
	return out
}

// What a run in processes logs is shown as that of a plain one, of the iterations that
// are shown.
func TestMetricsProcesses(t *testing.T) {
	dir := t.TempDir()
	how := []string{"--policy", "single-learner-coarse", "--steps", "49152"}
	want := iterations(t, dir, split(append(how, "--workers", "2", "--out", "plain")...)...)
	got := iterations(t, dir, split(append(how, "--processes", "2", "--out", "mine")...)...)
	for i, m := range got {
		if len(m) == 0 || !maps.Equal(m, want[i]) {
			t.Errorf("iteration %d is shown with %v, want %v", i, m, want[i])
		}
	}
	if len(got) == 0 {
		t.Error("no iteration was shown")
	}
}

// A run in processes that was killed or interrupted as a whole goes on in as many
// processes as one likes, or in one, and back, to the bits of one that never was.
func TestResumeProcesses(t *testing.T) {
	dir := t.TempDir()
	want, record := whole(t)
	for _, c := range []struct {
		name  string
		begin []string
		with  syscall.Signal
		ways  [][]string // of going on, all but the last of which are killed
	}{
		{"more", []string{"--workers", "2"}, syscall.SIGINT, [][]string{{"--processes", "3"}}},
		{"one", []string{"--processes", "2"}, syscall.SIGKILL, [][]string{nil}},
		{"to and fro", []string{"--processes", "2"}, syscall.SIGTERM, [][]string{{"--processes", "3"}, nil, {"--processes", "1"}, {"--processes", "2", "--store", "elsewhere"}, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := strings.ReplaceAll(c.name, " ", "-")
			args := split(append(c.begin, "--out", out)...)
			for i, way := range c.ways {
				p := start(t, dir, args...)
				if !p.until(`"iteration"`, 3) && i == 0 { // later it may be
					t.Fatal("it was over before it was interrupted")
				}
				p.signal(c.with)
				p.end()
				args = append([]string{"resume", out, "--json"}, way...)
			}
			line, _ := do(t, dir, 0, args...)
			sameBits(t, parse(t, line), want)
			sameRecord(t, filepath.Join(dir, out), record)
			do(t, dir, 0, "eval", out, "--episodes", "2")
			do(t, dir, 0, "eval", out, "--episodes", "2", "--best")
		})
	}
}

// A checkpoint that is not where it was committed is missed in a sentence.
func TestResumeMissing(t *testing.T) {
	dir := t.TempDir()
	p := start(t, dir, split("--processes", "2", "--out", "mine")...)
	p.until(`"iteration"`, 4)
	p.signal(syscall.SIGINT)
	p.end()
	kept, err := filepath.Glob(filepath.Join(dir, "mine", "step-*.safetensors"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("%v, %v", kept, err)
	}
	for _, path := range kept {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, how := range [][]string{nil, {"--processes", "2"}} {
		if _, text := do(t, dir, 2, append([]string{"resume", "mine"}, how...)...); !strings.Contains(text, "checkpoint of step") || !strings.Contains(text, "no such object") || strings.Count(text, "\n") != 1 {
			t.Errorf("%v: %s", how, text)
		}
	}
}

// Without committed.json a run goes on from the newest good checkpoint that its folder has, and
// none is deleted.
func TestResumeUncommitted(t *testing.T) {
	dir := t.TempDir()
	want, record := whole(t)
	p := start(t, dir, split("--processes", "2", "--out", "mine")...)
	if !p.until(`"iteration"`, 3) {
		t.Fatal(p.stderr.String())
	}
	p.signal(syscall.SIGINT)
	p.end()
	if err := os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(dir, "mine"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		out string
		how []string
	}{{"mine", []string{"--processes", "2"}}, {"copy", nil}} {
		if err := os.Remove(filepath.Join(dir, c.out, "committed.json")); err != nil {
			t.Fatal(err)
		}
		p := start(t, dir, append([]string{"resume", c.out, "--json"}, c.how...)...)
		if !p.until("committed.json is missing: going on from step-", 1) || !p.until(`"begin"`, 1) || strings.Contains(p.lines.Text(), `"steps":0,`) {
			p.end()
			t.Fatalf("%s: it begins with %s, %s", c.out, p.lines.Text(), p.stderr.String())
		}
		line, _ := p.end()
		sameBits(t, parse(t, line), want)
		sameRecord(t, filepath.Join(dir, c.out), record)
	}
}

// A coordinator whose data is damaged says so in a sentence.
func TestCoordinatorDamaged(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"snap/db", "wal/0000000000000000-0000000000000000.wal"} {
		path := filepath.Join(dir, "data", "etcd", "member", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, text := do(t, dir, 2, "coordinator", "--listen", "127.0.0.1:0", "--data", "data")
	if !strings.Contains(text, "etcd on data/etcd cannot go on: failed to open database: invalid database") || strings.Count(text, "\n") != 1 {
		t.Errorf("it says %q", text)
	}
}
