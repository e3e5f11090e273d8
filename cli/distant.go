package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/request"
)

// Files of a job's folder on a machine that does not see the run's folder itself.
const (
	submittedFile = "run.yaml"    // configuration of the run
	heardFile     = "report.json" // last account of the run
)

// distant returns the engine that was asked for, if its machines do not see this one's files.
func (f *engineFlags) distant() (launch.Distant, bool) {
	d, ok := f.engine().(launch.Distant)
	return d, ok
}

// serves reports whether this process runs workers for the leading command of its job.
func (f *engineFlags) serves() bool { return f.allocation != nil && f.allocation.Serve != nil }

// serveJob runs workers until the job is over.
func (c *command) serveJob(ctx context.Context, f *trainFlags) error {
	c.started = true
	return f.allocation.Serve(ctx)
}

// pack has a job of a distant engine bring its settings as a file, in the place of flags and of
// files that only this machine has.
func (f *trainFlags) pack(cmd *cobra.Command, r *request.Request, j *launch.Job) error {
	d, far := f.distant()
	if !far {
		return nil
	}
	without := append([]string{"config", "deployment", "set", "data", "demos", "demo-fraction", "no-verify"}, append(notOfJob, engineNames()...)...)
	for _, s := range settingFlags {
		without = append(without, s.flag)
	}
	j.Args = append(commandLine(cmd, nil, without), "--config", d.ConfigFile(), "--no-verify", "--out", j.Run)
	return f.carry(r, j)
}

// carry has a job of a distant engine know the configuration of its run.
func (f *trainFlags) carry(r *request.Request, j *launch.Job) (err error) {
	if _, far := f.distant(); far {
		var text []byte
		if text, err = r.YAML(); err == nil {
			j.Config = remark.ReplaceAll(text, nil)
		}
	}
	return err
}

// remark matches the lines of a configuration that explain its settings.
var remark = regexp.MustCompile(`(?m)^ *#.*\n|^\n`)

// runConfig reads the configuration of a run to be resumed. Of one on a distant engine it may be
// the one that was submitted.
func (f *trainFlags) runConfig(out string) ([]config.Assignment, error) {
	if _, far := f.distant(); far && !request.Taken(out) {
		file, err := request.ReadFile(filepath.Join(out, jobFolder, submittedFile))
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return request.RunConfig(out)
}

// notHere adds to the error of a folder without a run where the run is, if an engine has it on
// machines that do not see this one's files.
func notHere(out string, why error) error {
	b, _, ok := jobIn(out)
	if _, far := engines[b.Engine].(launch.Distant); !ok || !far {
		return why
	}
	return fmt.Errorf("%w: it is where %v has written it; weft resume %s --on %s goes on there, and a copy of that folder can be resumed here", why, b, out, b.Engine)
}

// keepText writes a file of the job's folder.
func keepText(out, name string, text []byte) error {
	return os.WriteFile(filepath.Join(out, jobFolder, name), text, 0o644)
}

// accountEvent begins the line by which a leading command tells its account.
const accountEvent = `{"event":"account",`

// print writes an account as a line.
func (p account) print(out io.Writer) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s%s\n", accountEvent, bytes.TrimPrefix(text, []byte("{")))
	return err
}

// parseAccount reads such a line; ok is false if the line says something else.
func parseAccount(line string) (p account, ok bool) {
	return p, strings.HasPrefix(line, accountEvent) && json.Unmarshal([]byte(line), &p) == nil
}

// listener hears what the leading command of a job prints, and keeps its last account.
type listener struct {
	cancel context.CancelFunc
	over   sync.WaitGroup
	out    string

	mu   sync.Mutex
	last account
}

// listen listens to a job until stop, or until the job is over.
func listen(ctx context.Context, d launch.Distant, b job, out string) *listener {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l := &listener{cancel: cancel, out: out}
	l.over.Go(func() {
		_ = d.Output(ctx, b.ID, true, func(line string) { // the job's state says what is wrong
			if p, ok := parseAccount(line); ok {
				l.mu.Lock()
				l.last = p
				l.mu.Unlock()
			}
		})
	})
	return l
}

func (l *listener) account() account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// stop ends listening, and keeps the last account in the job's folder.
func (l *listener) stop() {
	l.cancel()
	l.over.Wait()
	if p := l.account(); p.Run.Name != "" {
		_ = keep(l.out, heardFile, p) // it is for weft status alone
	}
}

// lastAccount returns the last account of a job's run, as far as one is known.
func lastAccount(ctx context.Context, e launch.Engine, b job, out string) (p account, err error) {
	name := progressFile
	if d, far := e.(launch.Distant); far {
		heard := false
		_ = d.Output(ctx, b.ID, false, func(line string) { // or it is gone, with the job
			if q, ok := parseAccount(line); ok {
				p, heard = q, true
			}
		})
		if heard {
			return p, keep(out, heardFile, p)
		}
		name = heardFile
	}
	if err = recall(out, name, &p); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return p, err
}

// printOutput prints what the leading command of a job has printed for people.
func printOutput(ctx context.Context, w io.Writer, d launch.Distant, b job, follow bool) error {
	return d.Output(ctx, b.ID, follow, func(line string) {
		if _, ok := parseAccount(line); !ok {
			fmt.Fprintln(w, line)
		}
	})
}
