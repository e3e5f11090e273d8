package coordinator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/etcd"
	"github.com/weft-rl/weft/internal/run/protocol"
)

func (c *cluster) stop(run string) {
	c.Helper()
	if err := c.client.Stop(c.Context(), run, true); err != nil {
		c.Fatal(err)
	}
	c.ends(run, core.Stopped)
}

func (c *cluster) resume(run string, workers, steps int) error {
	return c.client.Resume(c.Context(), run, fmt.Sprintf(configuration, workers, steps, ""), protocol.Again{})
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// A run that was stopped goes on from its checkpoint, and one that is done with more
// steps. Meanwhile nobody else may have its folder.
func TestResume(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.work("b")
	c.members(2)
	letGo := c.disk.hold("r")
	c.submit("r", 2, 65, "")
	c.at("r", 25)
	refused(t, c.resume("r", 2, 65), "run r is running: there is nothing to resume")
	if _, err := checkpoint.Lock(filepath.Join(c.runs, "r")); err == nil {
		t.Error("somebody else could train into the folder of a run that is under way")
	}
	c.stop("r")
	release, err := checkpoint.Lock(filepath.Join(c.runs, "r"))
	if err != nil {
		t.Fatalf("nobody can have the folder of a run that is over: %v", err)
	}
	release()
	letGo()
	if err := c.resume("r", 2, 65); err != nil {
		t.Fatal(err)
	}
	if r := c.whole("r", 65); r.Epoch != 2 {
		t.Errorf("it took %d epochs", r.Epoch)
	}
	if err := c.resume("r", 2, 85); err != nil {
		t.Fatal(err)
	}
	if r := c.whole("r", 85); r.Epoch != 3 {
		t.Errorf("it took %d epochs", r.Epoch)
	}
	text, err := os.ReadFile(filepath.Join(c.runs, "r", "config.yaml"))
	if err != nil || !strings.Contains(string(text), "steps=85") {
		t.Errorf("%s, %v", text, err)
	}
	refused(t, c.resume("s", 2, 65), "there is no run s")
	if err := c.resume("r", 9, 99); err != nil { // it has begun, so fewer do
		t.Fatal(err)
	}
	c.whole("r", 99)
}

// A coordinator that knows nothing goes on with what the folder says, from the last
// checkpoint that was committed or, if there was none and that was asked for, from the beginning.
func TestResumeFolder(t *testing.T) {
	for _, at := range []int64{5, 35} { // a checkpoint is every ten steps
		c := newCluster(t)
		_, stop := c.coordinate("127.0.0.1:0")
		leave := c.work("a")
		c.members(1)
		letGo := c.disk.hold("r")
		c.submit("r", 1, int(at)+1, "") // it does not come to the last one
		c.at("r", at)
		leave()
		stop()
		letGo()
		store, err := etcd.Embed(t.Context(), filepath.Join(t.TempDir(), "etcd"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		c.store, c.address = store, nil
		c.coordinate("127.0.0.1:0")
		c.work("b")
		c.members(1)
		s, err := c.client.Status(t.Context(), "r")
		if err != nil || s.Runs[0].Phase != core.Stopped || s.Runs[0].Progress.Steps != at/10*10 || !strings.Contains(s.Runs[0].Config, "workers=1") {
			t.Errorf("%+v, %v", s, err)
		}
		begin := at < 10
		if begin {
			refused(t, c.resume("r", 1, 65), "--or-begin")
			if rows, err := metrics.ReadJSONL(filepath.Join(c.runs, "r", "metrics.jsonl")); err != nil || len(rows) != int(at) {
				t.Errorf("%d lines are left of the record, %v", len(rows), err)
			}
		} else {
			refused(t, c.client.Submit(t.Context(), "r", fmt.Sprintf(configuration, 1, 65, "")), "holds another run")
		}
		if err := c.client.Resume(t.Context(), "r", fmt.Sprintf(configuration, 1, 65, ""), protocol.Again{Begin: begin}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(c.runs, "r", "replaced-1", "metrics.jsonl")); (err == nil) != begin {
			t.Errorf("the old record: %v", err)
		}
		if r := c.whole("r", 65); r.Epoch != 2 {
			t.Errorf("it took %d epochs", r.Epoch)
		}
	}
}

// A run that failed before its first checkpoint leaves its name and its folder to the next, whose
// epochs go on counting.
func TestFailedFirst(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.members(1)
	c.submit("r", 1, 9, "of no use") // at step 5
	c.ends("r", core.Failed)
	c.submit("r", 1, 65, "")
	if r := c.whole("r", 65); r.Epoch < 2 || strings.Contains(r.Config, "of no use") {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"metrics.jsonl", "config.yaml"} {
		if _, err := os.Stat(filepath.Join(c.runs, "r", "replaced-1", name)); err != nil {
			t.Error(err)
		}
	}
	refused(t, c.client.Submit(t.Context(), "r", fmt.Sprintf(configuration, 1, 65, "")), "there is a run r already, which is done")
}

// What somebody else is at, and what makes no sense, is refused.
func TestResumeRefused(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	dir := filepath.Join(c.runs, "r")
	release, err := checkpoint.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, c.resume("r", 1, 65), "in use by process")
	release()
	if err := os.WriteFile(filepath.Join(dir, "committed.json"), []byte(`{"epoch":-1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	refused(t, c.resume("r", 1, 65), "committed.json: it makes no sense")
	if err := os.Remove(filepath.Join(dir, "committed.json")); err != nil {
		t.Fatal(err)
	}
	local, err := checkpoint.Open(filepath.Join(dir, "checkpoints"), 1)
	if err == nil {
		err = local.Save(8, checkpoint.File{})
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(t, c.resume("r", 1, 65), "was trained in one process to step 8, beyond the 0 that a cluster committed")
	if release, err = checkpoint.Lock(dir); err != nil {
		t.Errorf("a refused wish keeps the folder: %v", err)
	} else {
		release()
	}
	refused(t, c.resume("../r", 1, 65), "is no name for a run")
}

// A run whose record lost lines while it was over is resumed only by somebody who knows.
func TestResumeLost(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.work("a")
	c.members(1)
	c.submit("r", 1, 65, "")
	c.at("r", 25)
	c.stop("r")
	if err := os.Truncate(filepath.Join(c.runs, "r", "metrics.jsonl"), 100); err != nil {
		t.Fatal(err)
	}
	refused(t, c.resume("r", 1, 65), "lost; put the files back, or go on without those lines with --lost-record")
	if err := c.client.Resume(t.Context(), "r", fmt.Sprintf(configuration, 1, 65, ""), protocol.Again{Lost: true}); err != nil {
		t.Fatal(err)
	}
	c.ends("r", core.Done)
	rows, err := metrics.ReadJSONL(filepath.Join(c.runs, "r", "metrics.jsonl"))
	if n := len(rows); err != nil || n < 10 || n > 50 || rows[0].Step != 1 || rows[n-1].Step != 65 {
		t.Errorf("%d lines: %v", n, err)
	}
}

// A run that is over can be deleted: nothing is left of it, and its name is free.
func TestDelete(t *testing.T) {
	c := newCluster(t)
	at, stop := c.coordinate("127.0.0.1:0")
	letGo := c.disk.hold("r")
	c.work("a")
	c.members(1)
	c.submit("r", 1, 25, "")
	c.at("r", 15)
	erase := func(run string) error {
		_, err := c.client.Delete(t.Context(), run)
		return err
	}
	refused(t, erase("r"), "run r is running: weft stop r ends it first")
	refused(t, erase("s"), "there is no run s")
	refused(t, erase("../r"), "there is no run ../r")
	letGo()
	c.whole("r", 25)
	release, err := checkpoint.Lock(filepath.Join(c.runs, "r"))
	if err != nil {
		t.Fatal(err)
	}
	refused(t, erase("r"), "in use by")
	release()
	if err := erase("r"); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(c.runs, "[^.]*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	refused(t, erase("r"), "there is no run r")
	stop()
	if err := os.Mkdir(filepath.Join(c.runs, ".deleted-r-1"), 0o755); err != nil { // by one that was killed
		t.Fatal(err)
	}
	c.coordinate(at)
	c.submit("r", 1, 25, "")
	c.whole("r", 25)
	left, err := filepath.Glob(filepath.Join(c.runs, "*"))
	left = slices.DeleteFunc(left, func(path string) bool { return filepath.Base(path) == ".audit.jsonl" })
	if s, e := c.client.Status(t.Context(), ""); e != nil || err != nil || len(s.Runs) != 1 || len(left) != 1 {
		t.Errorf("%+v, %v, %v, %v", s, e, left, err)
	}
	if x, err := c.client.Compact(t.Context()); err != nil || x.After == 0 || x.After > x.Before {
		t.Errorf("%+v, %v", x, err)
	}
}
