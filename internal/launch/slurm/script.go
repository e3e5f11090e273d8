package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// notice is how long before its time limit a job is told to save its run. Slurm may tell it up to a
// minute earlier.
const notice = 120 * time.Second

// another is the option that separates the components of a heterogeneous job.
const another = "hetjob"

// header returns the options of a job, by component. An option of the user's replaces one of the
// same key.
func header(j launch.Job) (out [][]launch.Option) {
	now := first(j)
	for _, o := range j.Options {
		same := func(x launch.Option) bool { return x.Key == o.Key }
		i := slices.IndexFunc(now, same)
		switch {
		case o.Key == another:
			out, now = append(out, now), []launch.Option{{Key: "ntasks-per-node", Value: "1"}}
		case i < 0:
			now = append(now, o)
		case o.Key == "array" && strings.HasPrefix(o.Value, "%"): // so many at a time
			now[i].Value += o.Value
		default:
			now[i] = o
		}
	}
	return append(out, now)
}

// first returns the options of a job's first component, which has the leading command.
func first(j launch.Job) []launch.Option {
	out := []launch.Option{{Key: "job-name", Value: j.Name}}
	if j.Nodes > 0 {
		n := strconv.Itoa(j.Nodes)
		if j.Most > j.Nodes { // as many as there are then, also when the job begins again
			n += "-" + strconv.Itoa(j.Most)
		}
		out = append(out, launch.Option{Key: "nodes", Value: n})
	}
	switch {
	case j.Workers > 0:
		out = append(out, launch.Option{Key: "ntasks", Value: strconv.Itoa(j.Workers)})
	case j.Most <= j.Nodes: // otherwise Slurm would reckon with the tasks of the fewest nodes
		out = append(out, launch.Option{Key: "ntasks-per-node", Value: "1"})
	}
	out = append(out, []launch.Option{
		{Key: "chdir", Value: j.Dir},
		{Key: "open-mode", Value: "append"},
		{Key: "requeue"},
		{Key: "signal", Value: fmt.Sprintf("B:USR1@%d", int(notice.Seconds()))},
	}...)
	if n := len(j.Seeds); n > 0 {
		out = append(out, launch.Option{Key: "array", Value: fmt.Sprintf("0-%d", n-1)})
	}
	return out
}

// Script implements launch.Engine: it returns a batch script for sbatch.
func (Engine) Script(j launch.Job) (string, error) {
	if j.Most > 0 && (j.Nodes == 0 || j.Workers > 0) {
		return "", errors.New("--max-workers on slurm needs --nodes N, and no --workers: a job is given from N nodes up to that many, with a worker on each")
	}
	parts := header(j)
	if err := timely(slices.Concat(parts...)); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	for i, part := range parts {
		if i > 0 {
			b.WriteString("#SBATCH " + another + "\n")
		}
		for _, o := range part {
			if o.Value == "" {
				fmt.Fprintf(&b, "#SBATCH --%s\n", o.Key)
			} else {
				fmt.Fprintf(&b, "#SBATCH --%s=%s\n", o.Key, launch.Quote(o.Value))
			}
		}
	}
	b.WriteString(explanation)
	if len(j.Seeds) > 0 {
		fmt.Fprintf(&b, "seeds=(%s)\nseed=${seeds[$SLURM_ARRAY_TASK_ID]}\n", strings.Trim(fmt.Sprint(j.Seeds), "[]"))
	}
	words := []string{"exec", launch.Quote(j.Program)}
	for _, a := range j.Args {
		words = append(words, word(a))
	}
	b.WriteString(strings.Join(words, " ") + "\n")
	return b.String(), nil
}

const explanation = `
# Each task is a worker, started by srun; the coordinator is on the first node.
# Before the time limit the run is saved, and the job requeues itself and goes
# on. exec lets the program receive that signal instead of the shell.
`

// word returns an argument as the shell of a script reads it.
func word(text string) string {
	parts := strings.Split(text, launch.Seed)
	for i, p := range parts {
		if p != "" || len(parts) == 1 {
			parts[i] = launch.Quote(p)
		}
	}
	return strings.Join(parts, `"$seed"`)
}

// timely refuses a time limit that leaves no time before the run is to be saved.
func timely(all []launch.Option) error {
	var limit, before time.Duration
	var text string
	for _, o := range all {
		var err error
		switch o.Key {
		case "time": // of several components the shortest counts
			var d time.Duration
			if d, err = parseTime(o.Value); d > 0 && (limit == 0 || d < limit) {
				limit, text = d, o.Value
			}
		case "signal":
			before, err = parseNotice(o.Value)
		}
		if err != nil {
			return err
		}
	}
	if limit > 0 && limit <= before {
		return fmt.Errorf("--slurm time=%s is too short to save the run, which begins %v before the limit: allow more than that, or less notice with --slurm signal=B:USR1@SECONDS", text, before)
	}
	return nil
}

// parseTime reads a time limit as Slurm does: minutes, minutes:seconds, hours:minutes:seconds,
// days-hours, days-hours:minutes or days-hours:minutes:seconds. Other texts are 0, without a limit.
func parseTime(text string) (time.Duration, error) {
	if strings.EqualFold(text, "infinite") || strings.EqualFold(text, "unlimited") {
		return 0, nil
	}
	days, rest, dashed := strings.Cut(text, "-")
	units := map[bool][]time.Duration{true: {time.Hour, time.Minute, time.Second}, false: {time.Minute, time.Second}}[dashed]
	if !dashed {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	if len(parts) == 3 {
		units = []time.Duration{time.Hour, time.Minute, time.Second}
	}
	n, err := strconv.Atoi(days)
	total := time.Duration(n) * 24 * time.Hour
	for i, p := range parts {
		x, e := strconv.Atoi(p)
		if err != nil || e != nil || x < 0 || i >= len(units) {
			return 0, fmt.Errorf("--slurm time: %q is no time limit, such as 90, 12:00:00 or 2-00:00:00", text)
		}
		total += time.Duration(x) * units[i]
	}
	return total, nil
}

// parseNotice reads a signal option, [B:]SIGNAL[@SECONDS], and returns how long before the time
// limit the signal is sent.
func parseNotice(text string) (time.Duration, error) {
	name, seconds, timed := strings.Cut(text, "@")
	if name != "B:USR1" && name != "B:SIGUSR1" && name != "B:10" {
		return 0, fmt.Errorf("--slurm signal: %q is not for this program: it saves its run on USR1, as in B:USR1@%d", text, int(notice.Seconds()))
	}
	if !timed {
		seconds = "60"
	}
	n, err := strconv.Atoi(seconds)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--slurm signal: %q has no number of seconds: it is to be as B:USR1@%d", text, int(notice.Seconds()))
	}
	return time.Duration(n) * time.Second, nil
}
