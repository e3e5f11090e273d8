package kubernetes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// answering bounds how long kubectl tries to reach a cluster for one request.
const answering = 20 * time.Second

// command returns a command of kubectl for a cluster. Its error is a missing kubectl.
func (c cluster) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, errors.New("there is no kubectl here: install it, and name the cluster with KUBECONFIG")
	}
	if c.context != "" {
		args = append(args, "--context="+c.context)
	}
	if c.namespace != "" {
		args = append(args, "--namespace="+c.namespace)
	}
	return exec.CommandContext(ctx, path, args...), nil
}

// call runs kubectl and returns what it prints. Its error is what kubectl says, in one line.
func (c cluster) call(ctx context.Context, input string, args ...string) ([]byte, error) {
	cmd, err := c.command(ctx, append(args, fmt.Sprintf("--request-timeout=%v", answering))...)
	if err != nil {
		return nil, err
	}
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &problems
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, sentence(problems.String(), err)
	}
	return out.Bytes(), nil
}

// into runs kubectl and decodes the JSON that it prints.
func (c cluster) into(ctx context.Context, v any, input string, args ...string) error {
	out, err := c.call(ctx, input, append(args, "--output=json")...)
	if err != nil || len(bytes.TrimSpace(out)) == 0 { // with --ignore-not-found
		return err
	}
	return json.Unmarshal(out, v)
}

// klog matches the beginning of lines that kubectl's libraries log.
var klog = regexp.MustCompile(`^[IWEF]\d{4} \d\d:\d\d:\d\d`)

// What to do about a cluster that is not there.
const (
	where    = "kubectl cluster-info shows where it looks; KUBECONFIG and --kubernetes context=NAME name another cluster"
	contexts = "kubectl config get-contexts lists those that there are"
)

// advice says what to do about a problem of kubectl's, by what its text has.
var advice = []struct{ text, do string }{
	{"exceeded quota", "ask for less with --kubernetes cpus=, memory= or gpus=, or for another namespace"},
	{"is forbidden", "ask for the right, or take another namespace with --kubernetes namespace=NAME"},
	{"Unauthorized", "log in again: kubectl auth whoami shows who you are there"},
	{"provide credentials", "log in again: kubectl auth whoami shows who you are there"},
	{"connection refused", where},
	{"was refused", where},
	{"no such host", where},
	{"i/o timeout", where},
	{"deadline exceeded", where},
	{"unable to connect", where},
	{"current-context", contexts},
	{"context was not found", contexts},
	{"does not exist", contexts},
	{"unknown field", "Weft needs Kubernetes 1.31 or newer"},
	{"namespaces \"", "kubectl get namespaces lists those that there are"},
}

// sentence returns the error of a kubectl that printed something.
func sentence(said string, why error) error {
	if !errors.As(why, new(*exec.ExitError)) {
		return fmt.Errorf("kubectl: %w", why)
	}
	var last string
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" && !klog.MatchString(line) && !strings.HasPrefix(line, "Warning:") {
			if last = strings.TrimSpace(last + " " + line); strings.HasPrefix(last, "Unable") {
				break // the rest repeats it
			}
		}
	}
	last = strings.TrimPrefix(strings.TrimPrefix(last, "error: "), "Error from server ")
	if last == "" {
		return fmt.Errorf("kubectl: %w", why)
	}
	err := fmt.Errorf("kubectl says: %s", last)
	for _, a := range advice {
		if strings.Contains(strings.ToLower(last), strings.ToLower(a.text)) {
			return fmt.Errorf("%w; %s", err, a.do)
		}
	}
	return err
}

// lines calls line for each line that kubectl prints, to its end.
func (c cluster) lines(ctx context.Context, line func(string), args ...string) error {
	cmd, err := c.command(ctx, args...)
	if err != nil {
		return err
	}
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	in := bufio.NewScanner(out)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		line(in.Text())
	}
	if err := errors.Join(in.Err(), cmd.Wait()); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return sentence(problems.String(), err)
	}
	return nil
}
