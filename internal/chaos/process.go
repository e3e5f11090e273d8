package chaos

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/weft-rl/weft/internal/launch/local"
)

// files are where a process leaves what it writes. The folder for its temporary files must be empty
// when it has ended by itself.
type files struct {
	name   string // name of the process
	temp   string // folder
	errors *os.File
}

// process is a process under test.
type process struct {
	*local.Process
	files
	err error // result of the process
}

// starter starts processes.
type starter struct {
	program string
	env     []string
	dir     string
	mu      sync.Mutex
	count   int
	all     []begun
}

// begun is a process that was started, or was to be.
type begun struct {
	name string
	*exec.Cmd
}

// prepare gives a command a folder for temporary files, and a file for errors, which close closes.
func (s *starter) prepare(name string, cmd *exec.Cmd) (f files, err error) {
	s.mu.Lock()
	s.count++
	f = files{name: name, temp: filepath.Join(s.dir, "tmp", fmt.Sprint(s.count))}
	file := filepath.Join(s.dir, fmt.Sprintf("%s.%d.txt", name, s.count))
	s.all = append(s.all, begun{name, cmd})
	s.mu.Unlock()
	if err := os.MkdirAll(f.temp, 0o755); err != nil {
		return f, err
	}
	f.errors, err = os.Create(file)
	cmd.Dir, cmd.Stderr, cmd.Env = s.dir, f.errors, append(cmd.Env, "TMPDIR="+f.temp)
	return f, err
}

// run runs a process to its end, telling of it once it has started and reading what it prints.
func (s *starter) run(name string, args []string, started func(*process), read func(line string)) (p *process, err error) {
	cmd := exec.Command(s.program, args...)
	cmd.Env = append(os.Environ(), s.env...)
	p = &process{}
	if p.files, err = s.prepare(name, cmd); err != nil {
		return p, err
	}
	defer p.errors.Close()
	p.err = local.Run(cmd, func(x *local.Process) {
		p.Process = x
		started(p)
	}, read)
	if p.Process == nil {
		return p, p.err
	}
	return p, nil
}

// survivors returns the processes of which something is left.
func (s *starter) survivors() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.all {
		if p.Process != nil && survived(p.Cmd) {
			out = append(out, p.name)
		}
	}
	return out
}

// leftovers returns what is wrong with how a process ended that was asked to or killed.
func (f files) leftovers(err error, asked, killed bool) error {
	if killed { // it could not clear up
		return nil
	}
	var errs []error
	if err != nil || !asked {
		errs = append(errs, fmt.Errorf("%s ended by itself (%v): %s", f.name, err, f.tail()))
	}
	left, err := os.ReadDir(f.temp)
	for _, x := range left {
		errs = append(errs, fmt.Errorf("%s left %s behind", f.name, x.Name()))
	}
	return errors.Join(append(errs, err)...)
}

// tail returns the end of what a process wrote to standard error.
func (f files) tail() string {
	text, err := os.ReadFile(f.errors.Name())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-2000):]))
}
