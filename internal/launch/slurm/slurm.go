// Package slurm runs weft commands as batch jobs of Slurm, and launches clusters within a job: the
// coordinator beside the leading command, on the first node, and each worker as a job step of its
// own. Everything goes through Slurm's commands.
package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/weft-rl/weft/internal/launch"
)

// Engine is Slurm, as the commands in PATH and SLURM_CONF find it.
type Engine struct{}

var (
	_ launch.Engine = Engine{}
	_ launch.Arrays = Engine{}

	_ launch.Stepper = Engine{}
)

// Check implements launch.Engine.
func (Engine) Check(ctx context.Context, _ ...launch.Option) (string, error) {
	for _, name := range []string{"sbatch", "srun", "squeue", "scancel", "scontrol"} {
		if _, err := exec.LookPath(name); err != nil {
			return "", fmt.Errorf("there is no Slurm here: %s is not in PATH; run this on a login node of the cluster", name)
		}
	}
	version, err := call(ctx, "", "scontrol", "--version")
	if err != nil && strings.Contains(err.Error(), "configuration source") {
		return "", errors.New("there is no configuration of Slurm here: name its slurm.conf with SLURM_CONF, or submit from a machine of its cluster")
	}
	if err != nil {
		return "", err
	}
	if _, err := call(ctx, "", "squeue", "--noheader", "--me"); err != nil {
		return "", fmt.Errorf("%w: scontrol ping asks whether Slurm's controller runs", err)
	}
	return strings.TrimPrefix(strings.TrimSpace(version), "slurm-wlm "), nil
}

// Submit implements launch.Engine.
func (e Engine) Submit(ctx context.Context, j launch.Job) (string, error) {
	if _, err := e.Check(ctx); err != nil {
		return "", err
	}
	script, err := e.Script(j)
	if err != nil {
		return "", err
	}
	// Slurm lets a job wait that no machine of it will ever fit.
	_, err = call(ctx, script, "sbatch", "--test-only")
	var out string
	if err == nil {
		out, err = call(ctx, script, "sbatch", "--parsable")
	}
	if err != nil {
		return "", fmt.Errorf("%w; sinfo shows nodes and partitions, --nodes and --slurm KEY=VALUE change what is asked for", err)
	}
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";") // the cluster's name may follow
	return id, nil
}

// Element implements launch.Arrays.
func (Engine) Element(id string, i int) string { return fmt.Sprintf("%s_%d", id, i) }

// Look implements launch.Engine.
func (Engine) Look(ctx context.Context, id string) (launch.Standing, error) {
	out, err := call(ctx, "", "scontrol", "--oneliner", "show", "job", id)
	if err != nil {
		if strings.Contains(err.Error(), "Invalid job id") {
			return launch.Standing{Phase: launch.Over, Text: "forgotten by Slurm"}, nil
		}
		return launch.Standing{}, err
	}
	first, more, _ := strings.Cut(out, "\n") // of a heterogeneous job there is a line for each component
	f := fields(first)
	s := launch.Standing{Phase: phase(f["JobState"]), Text: f["JobState"], Log: f["StdOut"]}
	if why := f["Reason"]; why != "" && why != "None" {
		s.Text += " (" + why + ")"
	}
	if at := f["NodeList"]; at != "" && at != "(null)" {
		s.Text += " on " + at
		for line := range strings.Lines(more) {
			if at := fields(line)["NodeList"]; at != "" {
				s.Text += "," + at
			}
		}
	}
	return s, nil
}

// phase returns the phase of a job in one of Slurm's states.
func phase(state string) launch.Phase {
	switch state {
	case "RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT":
		return launch.Running
	case "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "RESIZING", "COMPLETING":
		return launch.Waiting
	}
	return launch.Over
}

// Interrupt implements launch.Engine.
func (e Engine) Interrupt(ctx context.Context, id string) error {
	s, err := e.Look(ctx, id)
	switch {
	case err != nil:
		return err
	case s.Phase == launch.Running:
		_, err = call(ctx, "", "scancel", "--signal=INT", "--batch", id)
	case s.Phase == launch.Waiting:
		_, err = call(ctx, "", "scancel", id)
	}
	return err
}

// fields returns the KEY=VALUE words of a line of scontrol's.
func fields(line string) map[string]string {
	out := map[string]string{}
	for _, word := range strings.Fields(line) {
		if key, value, ok := strings.Cut(word, "="); ok {
			out[key] = value
		}
	}
	return out
}

// prefix begins the errors of Slurm's commands.
var prefix = regexp.MustCompile(`(?m)^(sbatch|srun|scontrol|squeue|scancel|sinfo|slurm_load_jobs|slurm_[a-z_]+)?:? ?(error: |fatal: |allocation failure: )`)

// call runs one of Slurm's commands and returns what it prints. Its error is what the command says.
func call(ctx context.Context, input string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &problems
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if errors.As(err, new(*exec.ExitError)) {
		text := strings.Join(strings.Fields(prefix.ReplaceAllString(problems.String()+" "+out.String(), "")), " ")
		if text != "" {
			return "", fmt.Errorf("%s of Slurm says: %s", name, text)
		}
	}
	return "", fmt.Errorf("%s of Slurm: %w", name, err)
}
