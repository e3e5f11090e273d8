package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/bench"
	children "github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/run/scratch"
)

// wholeRun trains in a process of its own, this very program, and measures it.
func wholeRun(ctx context.Context, args []string) (r bench.WholeRun, err error) {
	program, err := self()
	if err != nil {
		return r, err
	}
	dir, err := scratch.New("weft-bench-run-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	cmd := exec.CommandContext(ctx, program, append(append([]string{"train"}, args...), "--json", "--out", filepath.Join(dir.Path, "run"))...)
	runtime.LockOSThread() // Bind's, as in launch: a run does not end because nobody reads its output
	defer runtime.UnlockOSThread()
	children.Bind(cmd)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it takes what it started with it
	cmd.WaitDelay = 5 * time.Second
	var problems children.Tail
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return r, err
	}
	last := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		last = lines.Text()
	}
	_, _ = io.Copy(io.Discard, out) // of a line that is too long
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		return r, fmt.Errorf("weft train %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	var done doneEvent
	if err := json.Unmarshal([]byte(last), &done); err != nil {
		return r, fmt.Errorf("weft train %s: %w", strings.Join(args, " "), err)
	}
	s := cmd.ProcessState
	return bench.WholeRun{
		Steps: done.Steps, Seconds: float64(done.Steps) / max(1e-9, done.StepsPerSecond), CPU: (s.UserTime() + s.SystemTime()).Seconds(),
	}, nil
}
