package bench

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// peerScripts holds the Python contenders. Each is a process that lives as long as the benchmark
// and works on request (peers/serve.py), so that contenders can take turns.
//
//go:embed peers/*.py
var peerScripts embed.FS

// peer describes a contender in Python, or several in one process.
type peer struct {
	name    string
	script  string
	install string
	ways    []way
}

// way names one of a peer's ways to do the work.
type way struct {
	path    string
	threads int // 0 is its own choice
}

// startPeers starts the peers that are wanted and installed.
func startPeers(ctx context.Context, o Options, all []peer) (field, error) {
	f := field{close: func() error { return nil }}
	var wanted []peer
	for _, p := range all {
		if o.wants(p.name) {
			wanted = append(wanted, p)
		}
	}
	if len(wanted) == 0 {
		return f, nil
	}
	interpreter, err := exec.LookPath(o.Python)
	if err != nil {
		for _, p := range wanted {
			f.absent = append(f.absent, Absence{p.name, "no " + o.Python, "install Python or name one with --python; then " + p.install})
		}
		return f, nil
	}
	return f, f.start(ctx, interpreter, wanted)
}

// start starts all processes before it waits for the first one to be ready,
// because importing takes them seconds.
func (f *field) start(ctx context.Context, interpreter string, peers []peer) error {
	dir, err := unpack()
	if err != nil {
		return err
	}
	var running []*process
	f.close = func() error {
		var errs []error
		for _, p := range running {
			errs = append(errs, p.stop())
		}
		return errors.Join(append(errs, os.RemoveAll(dir))...)
	}
	for _, p := range peers {
		proc, err := launch(ctx, interpreter, filepath.Join(dir, p.script), p)
		if err != nil {
			return errors.Join(err, f.close())
		}
		running = append(running, proc)
	}
	for _, proc := range running {
		version, err := proc.ready(ctx)
		if err != nil {
			f.absent = append(f.absent, Absence{proc.peer.name, err.Error(), proc.peer.install})
			continue
		}
		for _, w := range proc.peer.ways {
			f.present = append(f.present, &python{proc, w, version})
		}
	}
	return ctx.Err()
}

// unpack writes the scripts to a folder of their own.
func unpack() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "weft-bench-"); err != nil {
		return "", err
	}
	files, err := peerScripts.ReadDir("peers")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		data, err := peerScripts.ReadFile(path.Join("peers", f.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, f.Name()), data, 0o600)
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// process is a running peer.
type process struct {
	peer   peer
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors bytes.Buffer // its standard error; to be read when it has ended
}

func launch(ctx context.Context, interpreter, script string, p peer) (*process, error) {
	proc := &process{peer: p, cmd: exec.CommandContext(ctx, interpreter, script)}
	proc.cmd.Stderr = &proc.errors
	proc.cmd.WaitDelay = time.Second
	var err error
	if proc.in, err = proc.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := proc.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	proc.out = bufio.NewReader(out)
	if err := proc.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	return proc, nil
}

// answer is a peer's message.
type answer struct {
	Sample
	Ready  string      `json:"ready"`  // its version, once
	Absent string      `json:"absent"` // or the missing package
	Error  string      `json:"error"`
	Values [][]float64 `json:"values"`
}

// request is a message to a peer.
type request struct {
	Do      string  `json:"do"`  // "prepare", "measure", "values" or "release"
	Way     string  `json:"way"` // a process can hold one case for each
	Spec    any     `json:"spec,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
}

func (p *process) ready(ctx context.Context) (string, error) {
	a, err := p.read(ctx)
	if err == nil && a.Absent != "" {
		err = errors.New(a.Absent)
	}
	return a.Ready, err
}

func (p *process) ask(ctx context.Context, r request) (answer, error) {
	line, err := json.Marshal(r)
	if err != nil {
		return answer{}, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return answer{}, p.died(ctx, err)
	}
	return p.read(ctx)
}

func (p *process) read(ctx context.Context) (a answer, err error) {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return a, p.died(ctx, err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, fmt.Errorf("%s answers %q: %w", p.peer.name, line, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// died returns the error of a process that has ended, with the last line of its standard error.
func (p *process) died(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_ = p.stop()
	said := strings.TrimSpace(p.errors.String())
	return fmt.Errorf("%s has ended: %w: %s", p.peer.name, err, said[strings.LastIndex(said, "\n")+1:])
}

// stop closes the process's input, so that it ends by itself, and waits for that.
func (p *process) stop() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	_ = p.in.Close()
	if err := p.cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) && !errors.As(err, new(*exec.ExitError)) {
		return fmt.Errorf("stopping %s: %w", p.peer.name, err)
	}
	return nil
}

// python is a contender that a peer's process runs.
type python struct {
	*process
	way
	version string
}

// told is implemented by specifications that differ by the peer's way; ok is false for a way that
// has no part in the case.
type told interface {
	by(peer, way string) (spec any, ok bool)
}

func (p *python) Label() Label { return Label{p.peer.name, p.path, p.version} }

func (p *python) Prepare(ctx context.Context, c Case) (Sample, error) {
	spec := c.Spec
	if e, ok := spec.(told); ok {
		if spec, ok = e.by(p.peer.name, p.path); !ok {
			return Sample{}, errNoPart
		}
	}
	if x, ok := spec.(PolicySpec); ok && !x.Peers {
		return Sample{}, errNoPart
	}
	if w, ok := spec.(Workload); ok {
		var err error
		if spec, err = w.on(p.threads); err != nil {
			return Sample{}, err
		}
	}
	a, err := p.ask(ctx, request{Do: "prepare", Way: p.path, Spec: spec})
	return a.Sample, err
}

func (p *python) Measure(ctx context.Context, d time.Duration) (Sample, error) {
	a, err := p.ask(ctx, request{Do: "measure", Way: p.path, Seconds: d.Seconds()})
	return a.Sample, err
}

func (p *python) Release() {
	// A process that cannot be told has ended, and holds nothing.
	_, _ = p.ask(context.Background(), request{Do: "release", Way: p.path})
}
