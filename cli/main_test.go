package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/internal/device"
)

func TestMain(m *testing.M) {
	cli.SetRunner(newCounter)
	if do := acts[os.Getenv(asCommand)]; do != nil {
		act(do)
	}
	if os.Getenv(asCommand) != "" { // a process of a cluster that a test has started
		cli.Main(weft.Builtin())
	}
	if err := os.Setenv(asCommand, "1"); err != nil { // so are those that this one starts
		panic(err)
	}
	goleak.VerifyTestMain(device.Tests{M: m})
}

// outcome is how a command ended.
type outcome struct {
	code        int
	out, errors string
}

// run runs the command line in this process.
func run(ctx context.Context, set app.Set, args ...string) outcome {
	var out, errs bytes.Buffer
	code := cli.Run(ctx, set, args, &out, &errs)
	return outcome{code, out.String(), errs.String()}
}

// do runs a command that must end with a code.
func do(t *testing.T, code int, args ...string) outcome {
	t.Helper()
	o := run(t.Context(), weft.Builtin(), args...)
	if o.code != code {
		t.Fatalf("weft %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), o.code, code, o.out, o.errors)
	}
	return o
}

// tiny returns a run of 4 iterations that is over at once; more flags may follow.
func tiny(args ...string) []string {
	return append([]string{
		"train", "ppo", "--env", "Identity-v0", "--steps", "256", "--eval-episodes", "4",
		"--set", "envs=4", "--set", "horizon=16", "--set", "hidden=8", "--set", "epochs=1",
	}, args...)
}

// event is a line of JSON.
type event map[string]any

// events returns the lines of an output, each of which must be one JSON object.
func events(t *testing.T, out string) (all []event) {
	t.Helper()
	if !strings.HasSuffix(out, "\n") {
		t.Fatalf("the last line is not complete: %q", out)
	}
	for line := range strings.Lines(out) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q is no JSON object: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// last returns the last event of an output.
func last(t *testing.T, o outcome) event {
	t.Helper()
	all := events(t, o.out)
	return all[len(all)-1]
}

// stopAfter cancels when an output has had some lines with a text.
type stopAfter struct {
	bytes.Buffer
	text   string
	times  int
	cancel func()
}

func (s *stopAfter) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(s.text)) {
		if s.times--; s.times == 0 {
			s.cancel()
		}
	}
	return s.Buffer.Write(p)
}

// interrupt runs a command and interrupts it after some lines with a text.
func interrupt(t *testing.T, text string, times int, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopAfter{text: text, times: times, cancel: cancel}
	var errs bytes.Buffer
	code := cli.Run(ctx, weft.Builtin(), args, out, &errs)
	if code != 130 {
		t.Fatalf("exit code %d, want 130\n%s%s", code, out.String(), errs.String())
	}
	return outcome{code, out.String(), errs.String()}
}

// contains fails unless a text has all of the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

// absent fails if something is there.
func absent(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); err == nil {
		t.Errorf("%s is there", path)
	}
}

// write makes a file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
