package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/env"
)

// interpreter describes the Python that was found.
type interpreter struct {
	Path     string            `json:"path"`
	Version  string            `json:"version"`
	Packages map[string]string `json:"packages"` // versions of those that are installed
	err      error
}

// oldest is the first version of Python 3 that environments run in.
const oldest = 10

// script prints what an interpreter is and which of the packages that its arguments name it has.
const script = `
import json, sys
from importlib import metadata
have = {}
for name in sys.argv[1:]:
    try:
        have[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps({"path": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "packages": have}))
`

// ask starts an interpreter to see what it has.
func ask(ctx context.Context, name string, packages []string) (p interpreter) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, append([]string{"-c", script}, packages...)...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err == nil {
		err = json.Unmarshal(out, &p)
	}
	p.err = err
	return p
}

// Python returns a check of the interpreter that environments run in, and one of each package that
// schemes of environments need.
func Python(given string, schemes []env.Scheme) (out []Check) {
	users := map[string][]string{} // prefixes of the schemes that need a package
	var packages []string
	for _, s := range schemes {
		for _, p := range s.Packages {
			if users[p] = append(users[p], s.Prefix+":"); len(users[p]) == 1 {
				packages = append(packages, p)
			}
		}
	}
	name := cmp.Or(given, os.Getenv("WEFT_PYTHON"), "python3")
	var once sync.Once
	var found interpreter
	look := func(ctx context.Context) interpreter {
		once.Do(func() { found = ask(ctx, name, packages) })
		return found
	}
	out = append(out, Check{"python", func(ctx context.Context) Finding { return look(ctx).finding(name) }})
	for _, p := range packages {
		out = append(out, Check{p, func(ctx context.Context) Finding { return look(ctx).pack(name, p, users[p]) }})
	}
	return out
}

// finding judges the interpreter.
func (p interpreter) finding(name string) Finding {
	another := "install Python 3." + strconv.Itoa(oldest) + " or later, or name one with --python or WEFT_PYTHON"
	if errors.Is(p.err, exec.ErrNotFound) || errors.Is(p.err, os.ErrNotExist) {
		return missing("there is no "+name, another)
	}
	if p.err != nil {
		return missing(fmt.Sprintf("%s does not run (%v)", name, p.err), another)
	}
	parts := strings.Split(p.Version, ".")
	if minor, err := strconv.Atoi(parts[1]); parts[0] != "3" || err != nil || minor < oldest {
		return missing(p.Path+" is "+p.Version, another)
	}
	return ok(p.Version + " at " + p.Path)
}

// pack judges a package that some environments need.
func (p interpreter) pack(python, name string, users []string) Finding {
	whose := "for " + strings.Join(users, " and ") + " environments"
	switch v, there := p.Packages[name]; {
	case p.err != nil:
		return missing("no Python to have it, "+whose, "see python above")
	case !there:
		return missing("not installed, "+whose, python+" -m pip install "+name)
	default:
		return ok(v + ", " + whose)
	}
}
