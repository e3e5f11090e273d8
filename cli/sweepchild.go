package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	children "github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/runner"
)

// trainChild trains a run in a process of its own: weft train, or weft resume of one that has
// begun. It is interrupted as a user would, which saves it.
func trainChild(ctx context.Context, r *request.Request, dir string, until int64, metric string) (ended bool, err error) {
	args := []string{"resume", dir, "--or-begin", "--json"}
	if !request.Taken(dir) {
		text, err := r.YAML()
		if err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		file := filepath.Join(dir, trialFile)
		if err == nil {
			err = durable.Replace(file, text)
		}
		if err != nil {
			return false, err
		}
		args = []string{"train", "--config", file, "--out", dir, "--json"}
	}
	_, ended, err = runChild(ctx, nil, args, &rung{until: until, metric: metric})
	return ended, err
}

// trainMemberChild trains a member of a population in a process of its own.
func trainMemberChild(ctx context.Context, _ *request.Request, dir string, how request.Again) (runner.Result, error) {
	return trainMemberBy(ctx, nil, dir, how)
}

// trainMemberBy does so by a command that the program is an argument of, unless there is none.
func trainMemberBy(ctx context.Context, by []string, dir string, how request.Again) (x runner.Result, err error) {
	args := []string{"resume", dir, "--json", "--until", fmt.Sprint(how.Until)}
	if how.Begin {
		args = append(args, "--or-begin")
	}
	last, _, err := runChild(ctx, by, args, &rung{})
	return runner.Result{Steps: last.Steps, WeightsSHA256: last.Weights, StateSHA256: last.State}, err
}

// runChild runs weft in a process of its own, by another command if there is one, until it ends, is
// stopped by w, or is interrupted through ctx. It returns the last event; ended reports whether the
// run was not interrupted.
func runChild(ctx context.Context, by, args []string, w *rung) (last childEvent, ended bool, err error) {
	program, err := self()
	if err != nil {
		return last, false, err
	}
	line := slices.Concat(by, []string{program}, args)
	cmd := exec.Command(line[0], line[1:]...)
	children.Bind(cmd)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return last, false, err
	}
	w.stop = sync.OnceFunc(func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // a second one would not let it save
	defer context.AfterFunc(ctx, w.stop)()
	last = followChild(bufio.NewScanner(out), w)
	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return last, true, nil
	case errors.As(err, &exit) && exit.ExitCode() == exitInterrupted:
		return last, false, nil
	case last.Error != "":
		return last, false, errors.New(last.Error)
	}
	return last, false, fmt.Errorf("weft %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
}

// trialFile is the run file of a trial that a process is started with.
const trialFile = "trial.yaml"

// childEvent has the fields of an event of weft train --json that the parent reads.
type childEvent struct {
	Event   string `json:"event"`
	Steps   int64  `json:"steps"`
	Error   string `json:"error"`
	Weights string `json:"weights_sha256"`
	State   string `json:"state_sha256"`
}

// followChild tells a watcher of iterations and evaluations, and returns the last event.
func followChild(lines *bufio.Scanner, w *rung) (last childEvent) {
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e childEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch last = e; e.Event {
		case "iteration":
			w.Iteration(runner.Report{Steps: e.Steps})
		case "eval":
			w.Evaluated(runner.Evaluation{Steps: e.Steps})
		}
	}
	return last
}
