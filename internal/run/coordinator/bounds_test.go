package coordinator_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/worker"
)

// flood submits many runs at once, and returns how many were taken, and what the others were told.
func (c *cluster) flood(name string, n, size int) (taken int, why string) {
	c.Helper()
	config := fmt.Sprintf(configuration, 9, 10, "") + strings.Repeat("x", size)
	var next, ok atomic.Int64
	var last atomic.Pointer[string]
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := c.client.Submit(c.Context(), fmt.Sprint(name, i), config); err == nil {
					ok.Add(1)
				} else {
					text := err.Error()
					last.Store(&text)
				}
			}
		})
	}
	all.Wait()
	if p := last.Load(); p != nil {
		why = *p
	}
	return int(ok.Load()), why
}

// TestBounds: however many submissions come, and however large, a coordinator keeps so much, and
// says what it does not take.
func TestBounds(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	if n, why := c.flood("large", 300, 250_000); n != 0 || !strings.Contains(why, "at most 65536 are taken (--max-submission of weft coordinator)") {
		t.Errorf("%d of 250 kB were taken: %s", n, why)
	}
	const size = 60_000
	n, why := c.flood("run", 300, size)
	if n != (8<<20)/(size+len(fmt.Sprintf(configuration, 9, 10, ""))) || !strings.Contains(why, "--max-waiting of weft coordinator") {
		t.Errorf("%d of %d bytes were taken: %s", n, size, why)
	}
	folders, err := filepath.Glob(filepath.Join(c.runs, "[^.]*"))
	if err != nil || len(folders) != n {
		t.Errorf("%d folders for %d runs, %v", len(folders), n, err)
	}
	small, why := c.flood("small", 300, 0)
	if n+small != 200 || !strings.Contains(why, "200 runs wait or are under way, and no more are taken (--max-runs of weft coordinator)") {
		t.Errorf("%d and %d runs were taken: %s", n, small, why)
	}
	s, err := c.client.Status(t.Context(), "")
	if err != nil || len(s.Runs) != 200 || s.Runs[0].Config != "" {
		t.Errorf("%d runs are shown, %v", len(s.Runs), err)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if t.Logf("%d MB in use", m.HeapInuse>>20); m.HeapInuse > 400<<20 {
		t.Errorf("they take %d MB", m.HeapInuse>>20)
	}
	if err := c.client.Stop(t.Context(), s.Runs[0].Name, true); err != nil {
		t.Fatal(err)
	}
	c.ends(s.Runs[0].Name, core.Stopped)
	if again, why := c.flood("again", 1, 0); again != 1 {
		t.Errorf("one is over, and no other is taken: %s", why)
	}
}

// talker is a runner that says too much, and what a terminal would obey.
type talker struct{ fake }

func (f talker) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	r.Note("\x1b[2J\u202egone " + strings.Repeat("long ", 100_000))
	if err := f.fake.Run(ctx, a, r); err != nil {
		return err
	}
	return fmt.Errorf("\x1b]0;title\x07 it failed")
}

// TestEscaped: what a worker says of its own run is logged and shown without what a terminal would
// obey, and no line is longer than it may be.
func TestEscaped(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	c.work("a", func(o *worker.Options) { o.Runner = talker{fake{c.disk}} })
	c.submit("r", 1, 20, "\x1b[31mred")
	r := c.ends("r", core.Failed)
	var log bytes.Buffer
	if err := c.client.Logs(t.Context(), "r", true, &log); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(c.runs, "r", "log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, text := range map[string]string{"logs": log.String(), "log.txt": string(file), "coordinator": strings.Join(c.said, "\n")} {
		if strings.ContainsAny(text, "\x1b\x07\u202e") || !strings.Contains(text, `\x1b[31mred`) {
			t.Errorf("%s: %.300q", name, text)
		}
	}
	if !strings.Contains(r.Why, "red") || !strings.Contains(log.String(), `a: \x1b[2J\u202egone long`) {
		t.Errorf("%q, %.300q", r.Why, log.String())
	}
	for line := range bytes.Lines(file) {
		if len(line) > 70<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

// TestStrangeWorker: a worker that introduces itself with what cannot be shown is refused.
func TestStrangeWorker(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	for name, change := range map[string]func(*worker.Options){
		"host":    func(o *worker.Options) { o.Host = "\x1b[2Jhost" },
		"device":  func(o *worker.Options) { o.Devices = []string{"cpu\ncpu"} },
		"devices": func(o *worker.Options) { o.Devices = make([]string, 1000) },
		"data":    func(o *worker.Options) { o.Data = strings.Repeat("x", 1<<16) },
	} {
		o := c.options("x")
		change(&o)
		if err := worker.Run(t.Context(), o); err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s, err := c.client.Status(t.Context(), ""); err != nil || len(s.Workers) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}
