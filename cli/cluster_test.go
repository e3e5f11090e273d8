package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/part"
)

const asCommand = "WEFT_TEST_COMMAND"

// counter is a runner that trains by counting: 8 steps an iteration, a checkpoint
// every 64.
type counter struct {
	store string
	steps func(config string) (int64, error)
}

func newCounter(store string, steps func(config string) (int64, error)) part.Runner {
	return counter{store, steps}
}

func (c counter) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	total, err := c.steps(a.Config)
	if err == nil {
		err = r.Ready(ctx)
	}
	if err != nil {
		return err
	}
	if !a.Owner() {
		<-ctx.Done() // it is told when who decides is done
		return ctx.Err()
	}
	p := part.Progress{}
	if a.From != nil {
		text, err := os.ReadFile(filepath.Join(c.store, a.From.Object))
		if err != nil || string(text) != fmt.Sprint(a.From.Step) {
			return fmt.Errorf("checkpoint %s holds %q: %w", a.From.Object, text, err)
		}
		p.Steps = a.From.Step
	}
	for p.Steps < total {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.Halted():
			p.Halted = true
			r.Progress(p)
			return c.commit(ctx, a, p.Steps, r)
		case <-time.After(time.Millisecond): // it is the work
		}
		p.Steps += 8
		p.Iter = p.Steps / 8
		if err := r.Record(ctx, fmt.Appendf(nil, "{\"step\":%d,\"iter\":%d,\"seconds\":0}\n", p.Steps, p.Iter)); err != nil {
			return err
		}
		r.Progress(p)
		if p.Steps%64 == 0 || p.Steps >= total {
			if err := c.commit(ctx, a, p.Steps, r); err != nil {
				return err
			}
		}
	}
	p.Result = &part.Result{Steps: p.Steps, WeightsSHA256: "w", StateSHA256: "s"}
	r.Progress(p)
	return nil
}

func (c counter) commit(ctx context.Context, a part.Assignment, step int64, r part.Reporter) error {
	m := part.Manifest{Epoch: a.Epoch, Step: step, Object: fmt.Sprintf("%s.%d", a.Run, step)}
	if err := os.WriteFile(filepath.Join(c.store, m.Object), fmt.Append(nil, step), 0o644); err != nil {
		return err
	}
	return r.Commit(ctx, m)
}

// shared is an output that is read while it is written.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
	news *sync.Cond
}

func newShared() *shared {
	s := &shared{}
	s.news = sync.NewCond(&s.mu)
	return s
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.Broadcast()
	return s.text.Write(p)
}

// until waits for a line that has a text.
func (s *shared) until(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for line := range strings.Lines(s.text.String()) {
			if strings.Contains(line, text) && strings.HasSuffix(line, "\n") {
				return line
			}
		}
		s.news.Wait()
	}
}

// serve runs a command until the test is over; it must end well.
func serve(t *testing.T, args ...string) (out *shared, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out = newShared()
	var errs bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- cli.Run(ctx, weft.Builtin(), args, out, &errs) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if code := <-done; code != 0 && code != 130 {
			t.Errorf("weft %s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
		}
	})
	t.Cleanup(stop)
	return out, stop
}

// coordinator starts a coordinator in the test's folder.
func coordinator(t *testing.T) (address string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // for the user's certificate
	out, _ := serve(t, "coordinator", "--listen", "127.0.0.1:0", "--json")
	var e struct{ Address string }
	if err := json.Unmarshal([]byte(out.until("listening")), &e); err != nil {
		t.Fatal(err)
	}
	return e.Address
}

func steps(t *testing.T, dir string, n int) {
	t.Helper()
	rows, err := metrics.ReadJSONL(filepath.Join(dir, "metrics.jsonl"))
	if err != nil || len(rows) != n/8 {
		t.Fatalf("%d lines are recorded, want %d: %v", len(rows), n/8, err)
	}
	for i, r := range rows {
		if r.Step != int64(8*(i+1)) {
			t.Fatalf("line %d is of step %d", i, r.Step)
		}
	}
}

// A run is trained by a cluster, and seen from elsewhere.
func TestCluster(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	for _, name := range []string{"a", "b"} {
		out, _ := serve(t, "worker", "--join", at, "--name", name, "--devices", "cpu", "--json")
		out.until("joined")
	}
	o := do(t, 0, tiny("--cluster", at, "--policy", "single-learner-coarse", "--steps", "640", "--json")...)
	if e := last(t, o); e["event"] != "done" || e["steps"] != 640.0 || e["workers"] != 2.0 || e["weights_sha256"] != "w" || e["out"] != "ppo-Identity-v0-seed1" {
		t.Errorf("%v", e)
	}
	steps(t, filepath.Join("runs", "ppo-Identity-v0-seed1"), 640)
	o = do(t, 0, tiny("--cluster", at)...) // plain, and under another name
	contains(t, o.out, "weights w", "ppo-Identity-v0-seed1-2")
	contains(t, do(t, 0, "status", "--cluster", at).out, "2 workers, 2 runs", "ppo-Identity-v0-seed1-2  done", "MEMORY")
	contains(t, do(t, 0, "status", "ppo-Identity-v0-seed1", "--cluster", at).out, "is done: done after 640 steps", "epoch 1 begins at step 0 on a, b")
	contains(t, do(t, 0, "logs", "ppo-Identity-v0-seed1", "--cluster", at, "--follow").out, "epoch 1 begins at step 0 on a, b", "done after 640 steps")
	contains(t, do(t, 0, "status", "--cluster", at, "--json").out, `"phase":"done"`)
	contains(t, do(t, 1, "stop", "nothing", "--cluster", at).errors, "there is no run nothing: weft status shows them")
	contains(t, do(t, 0, "delete", "ppo-Identity-v0-seed1", "--cluster", at).out, "run ppo-Identity-v0-seed1 is deleted")
	contains(t, do(t, 0, "compact", "--cluster", at).out, " MB became ")
	contains(t, do(t, 0, "status", "--cluster", at).out, "2 workers, 1 runs")
	if _, err := os.Stat(filepath.Join("runs", "ppo-Identity-v0-seed1")); err == nil {
		t.Error("the folder of a deleted run is there")
	}
}

// A run that is interrupted, or stopped from elsewhere, ends with 130.
func TestClusterStop(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	out, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--json")
	out.until("joined")
	o := interrupt(t, `"iteration"`, 3, tiny("--cluster", at, "--steps", "1_000_000", "--json")...)
	if e := last(t, o); e["event"] != "interrupted" {
		t.Errorf("%v", e)
	}
	ran, done := newShared(), make(chan int, 1)
	go func() {
		done <- cli.Run(t.Context(), weft.Builtin(), tiny("--cluster", at, "--steps", "1_000_000", "--json", "--out", "mine"), ran, ran)
	}()
	ran.until(`"iteration"`)
	contains(t, do(t, 0, "stop", "mine", "--cluster", at).out, "run mine is stopped: as was asked for; the checkpoint of step ")
	if code := <-done; code != 130 {
		t.Errorf("exit code %d\n%s", code, ran.until(""))
	}
	contains(t, do(t, 0, "stop", "mine", "--cluster", at, "--now").out, "run mine is stopped: as was asked for") // as it was
}

// A run of a cluster goes on when the terminal is closed that it was submitted from.
func TestClusterHungUp(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	worker, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--json")
	worker.until("joined")
	ctx, cancel := context.WithCancelCause(t.Context())
	out := &stopAfter{text: `"iteration"`, times: 3, cancel: func() { cancel(cli.HungUp) }}
	if code := cli.Run(ctx, weft.Builtin(), tiny("--cluster", at, "--steps", "1_000_000", "--json", "--out", "mine"), out, io.Discard); code != 130 {
		t.Errorf("exit code %d", code)
	}
	contains(t, do(t, 0, "status", "mine", "--cluster", at).out, "run mine is running")
	do(t, 0, "stop", "mine", "--cluster", at)
}

// What a run is wrong about is told by the coordinator as train would.
func TestClusterRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	out, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--json")
	out.until("joined")
	o := do(t, 1, tiny("--cluster", at, "--policy", "multi-learner", "--replicas", "9")...)
	contains(t, o.errors, "9 replicas for 4 environments")
}

// A run that grows says so, and is not less free when it is resumed.
func TestClusterGrow(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	join := func(name string) {
		out, _ := serve(t, "worker", "--join", at, "--name", name, "--devices", "cpu", "--json")
		out.until("joined")
	}
	join("a")
	ran, done := newShared(), make(chan int, 1)
	go func() {
		done <- cli.Run(t.Context(), weft.Builtin(), tiny("--cluster", at, "--policy", "single-learner-coarse", "--max-workers", "9", "--steps", "1_000_000", "--json", "--out", "mine"), ran, ran)
	}()
	ran.until("epoch 1 begins at step 0 on a")
	for _, name := range []string{"b", "c", "d"} {
		join(name)
	}
	ran.until("on a, b, c, d")
	join("e") // there are four environments
	contains(t, do(t, 0, "status", "mine", "--cluster", at).out, "4 workers; it takes others in at a checkpoint, up to 9 in all")
	do(t, 0, "stop", "mine", "--cluster", at)
	if code := <-done; code != 130 {
		t.Errorf("exit code %d\n%s", code, ran.until(""))
	}
	o := interrupt(t, `"iteration"`, 1, "resume", "mine", "--cluster", at, "--json")
	contains(t, o.out, "on a, b, c, d")
	contains(t, read(t, "runs", "mine", "config.yaml"), "workers: 1", "max_workers: 9", "replicas: 0")
}

// A run that did not grow may do so when it goes on. Where the number of its parts shows in its
// sums, it keeps that.
func TestClusterGrowLater(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	for _, name := range []string{"a", "b", "c"} {
		out, _ := serve(t, "worker", "--join", at, "--name", name, "--devices", "cpu", "--json")
		out.until("joined")
	}
	for _, c := range []struct{ policy, began, on, parts string }{
		{"single-learner-coarse", "epoch 1 begins at step 0 on a, b", "on a, b, c", "replicas: 0"},
		{"multi-learner", "epoch 1 begins at step 0 on a, b", "on a, b", "replicas: 2"},
	} {
		t.Run(c.policy, func(t *testing.T) {
			args := tiny("--cluster", at, "--policy", c.policy, "--workers", "2", "--steps", "1_000_000", "--json", "--out", c.policy)
			contains(t, interrupt(t, `"iteration"`, 1, args...).out, c.began)
			o := interrupt(t, `"iteration"`, 1, "resume", c.policy, "--cluster", at, "--max-workers", "3", "--json")
			contains(t, o.out, c.on+`"`)
			contains(t, read(t, "runs", c.policy, "config.yaml"), "workers: 2", "max_workers: 3", c.parts)
		})
	}
	contains(t, do(t, 2, "resume", "runs/multi-learner", "--max-workers", "3").errors, "--max-workers needs --cluster")
}

func TestClusterUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"worker", "--join is needed"},
		{"worker --join 10.0.0.1:7700", "on any address but loopback both sides must have certificates"},
		{"worker --join 127.0.0.1:7700 --devices gpu", `unknown device "gpu"`},
		{"coordinator --listen 0.0.0.0:7700", "on any address but loopback"},
		{"coordinator --etcd http://10.0.0.1:2379", "must have TLS"},
		{"coordinator --ca x", "--ca, --cert and --key must be given together"},
		{"coordinator --patience 1ms", "--patience"},
		{"status --cluster 10.0.0.1:1", "on any address but loopback"},
		{"stop", "weft stop takes the name of one run"},
		{"logs a b", "weft logs takes the name of one run"},
		{"certs isue x", `unknown command "isue", did you mean "issue"?`},
		{"certs issue x --role work", "certs holds no authority: weft certs init"},
		{"certs issue x", "--role: a certificate without a role is good for nothing: there are coordinate, work, submit, read"},
		{"train ppo --cluster 127.0.0.1:1 --processes 2", "--cluster and --processes"},
		{"train ppo --processes 0", "--processes: 0 is not a number"},
		{"train ppo --processes 2 --policy gpu-only --workers 2 --device cuda", "--workers: policy gpu-only is one program of one process"},
		{"train ppo --processes 2 --policy single-learner-coarse --workers 3", "--workers: 3 are more than the 2 processes of --processes: take --processes 3"},
		{"train ppo --processes 2", "--processes: policy plain is one process: take --processes 1, or name the policy that is to share the work out"},
		{"train ppo --processes 2 --policy gpu-only", "--processes: policy gpu-only is one process"},
		{"train ppo --processes 2 --seeds 2", "--seeds: a cluster trains one seed a run"},
		{"train ppo --processes 2 --policy single-learner-coarse --max-workers 3", "--max-workers needs --cluster"},
		{"train ppo --policy single-learner-coarse --max-workers 3", "--max-workers needs --cluster"},
		{"train ppo --cluster 127.0.0.1:1 --policy single-learner-coarse --workers 4 --max-workers 3", "--max-workers: 3 is less than the 4 workers"},
		{"train ppo --cluster 127.0.0.1:1 --max-workers 3", "plain is one worker"},
		{"train ppo --cluster 10.0.0.1:1", "on any address but loopback"},
		{"train ppo --cluster 127.0.0.1:1 --wrap record=../../x", "--wrap: record=../../x: the file of a submitted run is in the run's own folder"},
	} {
		t.Run(c.args, func(t *testing.T) {
			o := do(t, 2, strings.Fields(c.args)...)
			contains(t, o.errors, c.want)
			absent(t, "runs")
			absent(t, "coordinator")
		})
	}
	contains(t, do(t, 0, "certs", "init").out, "certs/ca.crt")
	contains(t, do(t, 0, "certs", "issue", "gpu1", "--role", "work", "--host", "10.0.0.2").out, "certs/gpu1.key")
	contains(t, do(t, 0, "certs", "renew", "gpu1").out, "certs/gpu1.crt", "nothing has to be restarted")
}

// A whole cluster of this machine comes and goes with a run.
func TestProcesses(t *testing.T) {
	t.Setenv(asCommand, "1")
	dir := t.TempDir()
	t.Chdir(dir)
	o := do(t, 0, tiny("--processes", "2", "--policy", "single-learner-coarse", "--steps", "640", "--json", "--out", "mine")...)
	if e := last(t, o); e["event"] != "done" || e["steps"] != 640.0 || e["workers"] != 2.0 || e["out"] != filepath.Join(dir, "mine") {
		t.Errorf("%v", e)
	}
	steps(t, "mine", 640)
	contains(t, o.out, "epoch 1 begins at step 0 on w0, w1")
}

// A run of a cluster that was stopped is resumed there, with other settings where that
// is asked for, also by a coordinator that only has its folder.
func TestClusterResume(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	join := func(at, name string) {
		out, _ := serve(t, "worker", "--join", at, "--name", name, "--devices", "cpu", "--json")
		out.until("joined")
	}
	join(at, "a")
	o := interrupt(t, `"iteration"`, 20, tiny("--cluster", at, "--policy", "single-learner-coarse", "--steps", "1_000_000", "--out", "mine", "--json")...)
	saved := int(last(t, o)["steps"].(float64))
	if saved < 160 { // where it stood, and not at a checkpoint before
		t.Fatalf("saved at %d", saved)
	}
	steps(t, filepath.Join("runs", "mine"), saved)
	join(at, "b")
	o = do(t, 0, "resume", "mine", "--cluster", at, "--steps", fmt.Sprint(saved+640), "--json")
	contains(t, strings.Join(notes(t, o), "\n"), "the budget changes from 1000000", fmt.Sprintf("resumed, from step %d", saved), fmt.Sprintf("begins at step %d on ", saved))
	if e := last(t, o); e["event"] != "done" || e["steps"] != float64(saved+640) || e["workers"] != 2. {
		t.Errorf("%v", e)
	}
	steps(t, filepath.Join("runs", "mine"), saved+640)
	contains(t, read(t, "runs", "mine", "config.yaml"), "workers: 2", fmt.Sprintf("steps: %d", saved+640), "replicas: 1")

	contains(t, do(t, 1, "resume", "yours", "--cluster", at).errors, "there is no run yours")
	contains(t, do(t, 2, "resume", "mine", "--cluster", at, "--steps", "8").errors, "--steps: 8 is less than the")
	contains(t, do(t, 2, "resume", "mine", "--cluster", "10.0.0.1:1").errors, "on any address but loopback")
	contains(t, do(t, 2, "resume", "mine", "--cluster", at, "--processes", "2").errors, "--cluster and --processes")
	contains(t, do(t, 2, "resume", "mine", "--store", "x").errors, "--store needs --processes")

	out, _ := serve(t, "coordinator", "--listen", "127.0.0.1:0", "--data", "other", "--json")
	var e struct{ Address string }
	if err := json.Unmarshal([]byte(out.until("listening")), &e); err != nil {
		t.Fatal(err)
	}
	join(e.Address, "c")
	contains(t, do(t, 0, "status", "mine", "--cluster", e.Address).out, "only its folder is known")
	do(t, 0, "resume", "mine", "--cluster", e.Address, "--steps", fmt.Sprint(saved+1280))
	steps(t, filepath.Join("runs", "mine"), saved+1280)
}
