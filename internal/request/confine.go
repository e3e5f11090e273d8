package request

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/internal/config"
)

// Confinement lists the files and folders of this machine that a submitted run may name.
type Confinement struct {
	// Programs are folders whose programs, files and folders it may name, and files themselves.
	Programs []string
	// Data are folders whose files and folders it may name, but no programs.
	Data []string
}

// Forbidden is the error of a run that names what it may not. To try again elsewhere is in vain.
type Forbidden struct{ Err error }

func (f Forbidden) Error() string { return f.Err.Error() }
func (f Forbidden) Unwrap() error { return f.Err }

// Permanent tells a cluster that to try again is in vain.
func (Forbidden) Permanent() bool { return true }

// Confine refuses a request that names a file, a folder or a program of this machine which it may
// not name, and has its recorders write into the run's own folder. It is for runs that were
// submitted: code that is installed on this machine runs for them as for any other, with the rights
// of this process.
func (r *Request) Confine(c Confinement) error {
	for _, of := range []any{&r.Settings, r.Found.EnvOptions, r.Found.Config} {
		if of == nil {
			continue
		}
		fields, err := config.Fields(of)
		if err != nil {
			return err
		}
		for _, f := range fields {
			if err := c.check(f); err != nil {
				return Forbidden{err}
			}
		}
	}
	list, err := r.Found.Wrap.Confined(func(file string) bool { return within(file, c.Programs) })
	if err != nil {
		return Forbidden{fmt.Errorf("--wrap: %w", err)}
	}
	r.Found.Wrap = list
	return nil
}

// Submittable refuses a request that names files which no cluster would let it name, whatever its
// workers were started with: its submitter is told at once.
func (r *Request) Submittable() error {
	if _, err := r.Found.Wrap.Confined(filepath.IsAbs); err != nil {
		return fmt.Errorf("--wrap: %w", err)
	}
	return nil
}

// check refuses a setting that names what it may not.
func (c Confinement) check(f config.Field) error {
	if f.Names == "" || f.Value == "" || f.Value == f.Default {
		return nil
	}
	may, path, what := c.Programs, f.Value, f.Names
	switch f.Names {
	case "program":
	case "data set":
		if data.Registered(f.Value) { // by code that is installed here
			return nil
		}
		may = slices.Concat(may, c.Data)
	case "storage": // disk is in the run's own folder, disk:DIR is anywhere
		_, dir, named := strings.Cut(f.Value, ":")
		if !named {
			return nil
		}
		may, path, what = slices.Concat(may, c.Data), dir, "folder"
	case "file":
		if filepath.IsLocal(f.Value) && !strings.HasPrefix(f.Value, ".") { // in the folder of such files
			return nil
		}
		fallthrough
	default:
		may = slices.Concat(may, c.Data)
	}
	if within(path, may) {
		return nil
	}
	other := ""
	if f.Key == "python" {
		other = ", or set WEFT_PYTHON where they are started"
	}
	return fmt.Errorf("%s: a submitted run may not name the %s %s of the machines that train: start weft coordinator and weft worker with --allow %s%s",
		f.Key, what, path, filepath.Dir(path), other)
}

// within reports whether a path is one of some files, or in one of some folders, by its name.
func within(path string, all []string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	for _, folder := range all {
		rel, err := filepath.Rel(folder, path)
		if err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}
