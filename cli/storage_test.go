package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// replaying returns a short run of DQN on stacked frames; more flags may follow.
func replaying(args ...string) []string {
	return append([]string{
		"train", "dqn", "--env", "CartPole-v1", "--wrap", "frame-stack=4", "--steps", "960", "--eval-episodes", "0", "--json",
		"--set", "envs=4", "--set", "train_every=4", "--set", "buffer=300", "--set", "learning_starts=160", "--set", "batch=16",
		"--set", "hidden=8", "--set", "n_step=2", "--set", "prioritised=true",
	}, args...)
}

// Where replays live does not change a run: in memory, on disk, with workers, and after an
// interruption. Nothing is left of their files.
func TestStorageParity(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, replaying("--out", "memory")...))
	same := func(name string, o outcome) {
		t.Helper()
		if e := last(t, o); e["state_sha256"] != want["state_sha256"] || e["weights_sha256"] != want["weights_sha256"] {
			t.Errorf("%s: state %v, want %v", name, e["state_sha256"], want["state_sha256"])
		}
	}
	disk := func(args ...string) []string {
		return replaying(append([]string{"--storage", "disk:stores", "--storage-limit", "1MB"}, args...)...)
	}
	same("disk", do(t, 0, disk("--out", "disk")...))
	same("coarse", do(t, 0, disk("--out", "coarse", "--policy", "single-learner-coarse", "--workers", "2", "--no-verify")...))
	interrupt(t, `"iteration"`, 20, disk("--out", "broken")...)
	same("resumed", do(t, 0, "resume", "broken", "--json"))
	interrupt(t, `"iteration"`, 20, disk("--out", "moved")...)
	same("resumed in memory", do(t, 0, "resume", "moved", "--storage", "memory", "--storage-limit", "", "--json"))
	if files, err := os.ReadDir("stores"); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	two := last(t, do(t, 0, disk("--seeds", "2", "--out", "two")...))
	if x := last(t, do(t, 0, replaying("--seeds", "2", "--out", "again")...)); two["state_sha256"] != x["state_sha256"] {
		t.Error("seeds on disk differ from those in memory")
	}
}

// What cannot be stored is refused with a sentence.
func TestStorageRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		code  int
		flags string
		says  string
	}{
		{2, "--storage tape", `--storage: "tape" is none of memory, disk and disk:DIR`},
		{2, "--storage disk:", `--storage: "disk:" is none of`},
		{2, "--storage-limit 1GB", "--storage-limit: it is for replays on disk: add --storage disk"},
		{2, "--storage disk --storage-limit many", `--storage-limit: "many" is no number of bytes`},
		{2, "--storage disk --policy gpu-only", "--storage: policy gpu-only keeps replays on the device"},
		{1, "--storage disk --storage-limit 10KiB", "there are 10.2 kB left: raise --storage-limit or keep fewer rows"},
		{1, "--storage disk:/dev/null/x", "/dev/null/x"},
	} {
		o := do(t, c.code, replaying(strings.Fields(c.flags)...)...)
		contains(t, o.errors+o.out, c.says)
	}
	if files, _ := filepath.Glob("runs/*/checkpoints/*"); len(files) > 0 {
		t.Errorf("refused runs have saved %v", files)
	}
}
