package chaos

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

// The same seed has the same faults, and every kind has its turn.
func TestSchedule(t *testing.T) {
	a, b, c := NewSchedule(1), NewSchedule(1), NewSchedule(2)
	differ := false
	for i := range 10 {
		x := a.Next(7, i%2 == 1)
		if y := b.Next(7, i%2 == 1); !slices.Equal(x, y) {
			t.Fatalf("%v and %v", x, y)
		}
		differ = differ || !slices.Equal(x, c.Next(7, i%2 == 1))
	}
	if !differ {
		t.Error("another seed has the same faults")
	}
	for _, f := range NewSchedule(3, LoseLines, Drop).Next(4, false) {
		if f.Kind != LoseLines {
			t.Errorf("%s was not asked for, or needs a network", f.Kind)
		}
	}
	if all := NewSchedule(3, SetClock).Next(1, true); len(all) != 1 || all[0].Kind != SetClock {
		t.Errorf("%v, where the clock was to be set", all)
	}
	if all := NewSchedule(3, Drop).Next(4, false); len(all) > 0 {
		t.Errorf("%v without a network", all)
	}
	for _, network := range []bool{false, true} {
		met := map[Kind]bool{}
		for _, f := range NewSchedule(3).Next(len(traits), network) {
			met[f.Kind] = true
		}
		for _, k := range traits {
			if met[k.kind] != (k.possible(network) && !k.asked) {
				t.Errorf("%s: %v, with a network: %v", k.kind, met[k.kind], network)
			}
		}
	}
}

func TestMark(t *testing.T) {
	now := time.Now()
	m := mark{from: now, after: now, epoch: 3, iter: 7}
	anew := m
	anew.anew = true
	for _, c := range []struct {
		m     mark
		phase core.Phase
		epoch int64
		iter  int64
		late  time.Duration
		want  bool
	}{
		{m, core.Running, 3, 8, 1, true},
		{m, core.Running, 3, 8, -1, false}, // it was told before
		{m, core.Running, 3, 7, 1, false},  // it stands
		{m, core.Running, 3, 0, 1, false},  // a new coordinator has not heard of it
		{m, core.Starting, 4, 8, 1, false},
		{m, core.Running, 4, 0, 1, true},
		{anew, core.Running, 3, 8, 1, false},
		{anew, core.Waiting, 3, 0, 1, false},
		{anew, core.Running, 4, 0, 1, true},
		{anew, core.Done, 3, 9, 1, true},
	} {
		r := core.Run{Phase: c.phase, Epoch: c.epoch, Progress: part.Progress{Iter: c.iter}}
		if got := c.m.passed(r, now.Add(c.late)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Who is hit decides what must follow: an asynchronous run goes on without whom it can spare.
func TestSpares(t *testing.T) {
	p := plan.Plan{Owner: "learner", Replicas: []plan.Replica{{Group: "learner"}, {Group: "actor", Worker: 1}}}
	p.Groups = []plan.Group{{Name: "actor", Over: fdg.Environments}, {Name: "learner"}}
	r := core.Run{Phase: core.Running, Epoch: 2, Plan: &p, Members: []core.Member{{Name: "w0", Ready: true}, {Name: "w1", Ready: true, Life: 1}}}
	w0, w1, w2 := &slot{name: "w0"}, &slot{name: "w1"}, &slot{name: "w2"}
	if m := lost(r, w1); m.spared || !m.anew {
		t.Errorf("a synchronous run: %+v", m)
	}
	p.Async = true
	m := lost(r, w1)
	if !m.spared || m.anew {
		t.Errorf("its worker: %+v", m)
	}
	if m := lost(r, w0, w1); m.spared || !m.anew {
		t.Errorf("the one that decides: %+v", m)
	}
	if m := lost(r, w2); m.spared || m.anew {
		t.Errorf("a stranger: %+v", m)
	}
	later := time.Now().Add(time.Second)
	if m.replaced(r, later) {
		t.Error("it is replaced at once")
	}
	r.Members = []core.Member{{Name: "w0", Ready: true}, {Name: "w1", Life: 2}}
	if m.replaced(r, later) {
		t.Error("it is replaced by who is not ready")
	}
	r.History = []string{"epoch 2 is over, worker w0 is silent: it goes on from step 8"}
	if text := m.needless(r); text != "" {
		t.Errorf("%q needs no reason", text)
	}
	for _, text := range []string{"epoch 2 is over, worker w1 is lost: it goes on from step 8", "epoch 2 is over, worker w0: why: it goes on from step 8"} {
		if r.History = []string{text}; m.needless(r) != text {
			t.Errorf("%q is taken for a reason", text)
		}
	}
	r.Members[1].Ready = true
	if !m.replaced(r, later) {
		t.Error("it is not replaced")
	}
}

// row returns one of a record.
func row(iter, step int64, values ...metrics.Value) metrics.Row {
	return metrics.Row{Iter: iter, Step: step, Values: values}
}

// What is wrong with a record is seen.
func TestRecord(t *testing.T) {
	eval := metrics.Value{Name: "eval/return", X: 1}
	for _, c := range []struct {
		name string
		rows []metrics.Row
		good bool
	}{
		{"good", []metrics.Row{row(1, 8), row(2, 16), row(2, 16, eval)}, true},
		{"evaluated twice", []metrics.Row{row(1, 8), row(2, 16), row(2, 16, eval), row(2, 16, eval)}, false},
		{"twice", []metrics.Row{row(1, 8), row(1, 8), row(2, 16)}, false},
		{"lost", []metrics.Row{row(2, 16)}, false},
		{"out of order", []metrics.Row{row(2, 16), row(1, 8)}, false},
		{"short", []metrics.Row{row(1, 8)}, false},
	} {
		if err := inOrder(c.rows, 16); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, c := range []struct {
		name  string
		steps []int64
		good  bool
	}{
		{"good", []int64{5, 15, 20}, true}, {"more", []int64{5, 25}, true}, {"half an iteration", []int64{5, 12, 20}, false},
		{"too few", []int64{5, 15}, false}, {"too many", []int64{5, 20, 25}, false},
	} {
		var rows []metrics.Row
		for i, s := range c.steps {
			rows = append(rows, row(int64(i+1), s))
		}
		rows = append(rows, row(int64(len(rows)), c.steps[len(c.steps)-1], eval))
		if err := exact(rows, Run{Steps: 20, Unit: 5}); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	loss := func(x, seconds float64) []metrics.Row {
		return []metrics.Row{row(1, 8, metrics.Value{Name: "loss/policy", X: x}, metrics.Value{Name: "run/steps_per_second", X: seconds})}
	}
	if err := same(loss(1, 2), loss(1, 3)); err != nil {
		t.Error(err)
	}
	if same(loss(1, 2), loss(1.5, 2)) == nil || same(nil, loss(1, 2)) == nil || same([]metrics.Row{row(1, 8)}, loss(1, 2)) == nil {
		t.Error("records that differ are the same")
	}
}

// Other bits, and files that do not belong there, are seen.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "runs", "r")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("metrics.jsonl", `{"step":8,"iter":1,"seconds":0}`+"\n")
	write("step-000000000008.epoch-1.1.safetensors", "")
	good := ended{Event: "done", Steps: 8, WeightsSHA256: "w", StateSHA256: "s"}
	x := &trial{name: "r", want: &reference{good, []metrics.Row{row(1, 8)}}, cluster: &cluster{starter: starter{dir: dir}}}
	if err := errors.Join(x.check(good)...); err != nil {
		t.Error(err)
	}
	other := good
	other.StateSHA256 = "t"
	if err := errors.Join(x.check(other)...); err == nil || !strings.Contains(err.Error(), "undisturbed with w and s") {
		t.Error(err)
	}
	if err := errors.Join(x.check(ended{Event: "error", Error: "why"})...); err == nil || !strings.Contains(err.Error(), "why") {
		t.Error(err)
	}
	write("step-000000000008.epoch-1.safetensors.0a.part", "")
	if err := errors.Join(x.check(good)...); err == nil || !strings.Contains(err.Error(), "is left") {
		t.Error(err)
	}
}

// How processes end is seen.
func TestProcess(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, script string
		ask          bool
		want         string
	}{
		{"peace", "cat", true, ""},
		{"alone", "echo why >&2; exit 3", false, "ended by itself (exit status 3): why"},
		{"files", "touch $TMPDIR/x; cat", true, "left x behind"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &starter{program: shell, dir: t.TempDir()}
			p, err := s.run("p", []string{"-c", c.script}, func(p *process) {
				if c.ask {
					p.Ask()
				}
			}, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := p.leftovers(); err != nil {
				got = err.Error()
			}
			if got != c.want && !strings.Contains(got, c.want) || c.want == "" && got != "" {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// echo answers connections with what they say.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(c, c) // until it is cut
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

// A proxy passes everything on, late if it must, until it is cut.
func TestProxy(t *testing.T) {
	to := echo(t)
	p, err := newProxy()
	if err != nil {
		t.Fatal(err)
	}
	p.lead(to)
	c, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	say := func(text string) {
		t.Helper()
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(text string) {
		t.Helper()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	say("a")
	hear("a")
	p.delay(20 * time.Millisecond)
	began := time.Now()
	say("b")
	hear("b")
	if time.Since(began) < 40*time.Millisecond { // there and back
		t.Error("it was not late")
	}
	p.drop()
	say("c")
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes passed, %v", n, err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	p.heal()
	hear("c")
	if who := p.who(c.(*net.TCPConn)); who != -1 {
		t.Errorf("worker %d is known to have connected, though nobody was told which there are", who)
	}
	p.cut()
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("it is not cut")
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}

// A run that does not get on hangs, and it is told where.
func TestHang(t *testing.T) {
	x := &trial{Options: Options{Patience: 10 * time.Millisecond}, view: newView(), cluster: &cluster{}}
	x.view.tell(core.Run{Phase: core.Waiting, Epoch: 2, Why: "waits for a worker"})
	_, _, err := x.await(t.Context(), mark{epoch: 2, anew: true})
	if err == nil || !strings.Contains(err.Error(), "it hangs") || !strings.Contains(err.Error(), "waits for a worker") {
		t.Error(err)
	}
	if err := x.finish(t.Context(), make(chan error)); err == nil || !strings.Contains(err.Error(), "it hangs") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x.Patience = time.Hour
	if err := x.finish(ctx, make(chan error)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReport(t *testing.T) {
	took := .7
	r := Report{Seed: 7, Workers: 4, Trials: []Trial{{Run: "ppo", Network: "TCP", Epochs: 3, Injected: []Injected{
		{Kind: KillOwner, Recovery: 1, Restart: true}, {Kind: KillOwner, Recovery: 2, Restart: true}, {Kind: Pause, Recovery: -1},
		{Kind: KillWorker, Recovery: .1, Replaced: &took},
	}, Violations: []string{"r: it hangs"}}}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ppo  TCP      4       3", "with 1 violations",
		"kill worker   1         1          0          0.10 s  0.10 s  1         0.70 s",
		"kill owner    2         2          2          1.50 s  2.00 s  0         0.00 s",
		"pause worker  1         0          0          0.00 s  0.00 s  0         0.00 s",
		"all           4         3          2          1.03 s  2.00 s  1         0.70 s",
		"4 faults in 1 runs on 4 workers, seed 7, 0 s: 1 violations\n  r: it hangs\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// leftovers returns what is wrong with how a process ended.
func (p *process) leftovers() error {
	asked, killed := p.Asked()
	return p.files.leftovers(p.err, asked, killed)
}
