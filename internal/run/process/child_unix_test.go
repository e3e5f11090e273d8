//go:build unix

package process_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/plan"
)

// TestProcesses: if a real process is killed or frozen the others notice, and the
// next epoch, of fewer, comes to the plain loop's end from the last commit.
func TestProcesses(t *testing.T) {
	const config, n = "steps=2560", 3
	want := plain(t, config)
	first := planned(t, config, plan.Deployment{Policy: "single-learner-coarse", Workers: n})
	for name, c := range map[string]struct {
		signal  syscall.Signal
		victim  int
		silence time.Duration // long where it is not what tells of a loss: this machine may be busy
	}{
		"killed":       {syscall.SIGKILL, 1, time.Minute},
		"owner killed": {syscall.SIGKILL, first.Of(first.Owner)[0].Worker, time.Minute},
		"frozen":       {syscall.SIGSTOP, 2, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			folder, d := t.TempDir(), parttest.NewDesk(n)
			a := part.Assignment{Run: "r", Epoch: 1, Config: config, Plan: first}
			var workers []*worker
			var hit time.Time
			var once sync.Once
			d.Committed = func(m part.Manifest) error { // the owner waits for it, so nobody is at the end
				if m.Step >= 640 {
					once.Do(func() {
						hit = time.Now()
						_ = workers[c.victim].cmd.Process.Signal(c.signal) // or it has ended, which the test sees
					})
				}
				return nil
			}
			t.Setenv(childSilence, c.silence.String())
			errs := epoch(t, a, d, n, folder, c.victim, func(all []*worker) { workers = all })
			t.Logf("noticed within %v: %v", time.Since(hit), errs)
			for i, err := range errs {
				if err == nil || i != c.victim && !strings.Contains(err.Error(), fmt.Sprintf("worker w%d was lost", c.victim)) {
					t.Errorf("process %d: %v", i, err)
				}
			}
			commits := d.Commits()
			if len(commits) == 0 {
				t.Fatal("nothing was committed")
			}
			again := parttest.NewDesk(2)
			t.Setenv(childSilence, time.Minute.String())
			a.Epoch, a.From, a.Plan = 2, &commits[len(commits)-1], planned(t, config, coarse)
			if err := errors.Join(epoch(t, a, again, 2, folder, -1, func([]*worker) {})...); err != nil {
				t.Fatal(err)
			}
			same(t, again, want)
		})
	}
}
