package mj

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Install is the command that installs the library, for error messages.
const Install = "pip install mujoco==4.0.0 gymnasium==1.3.0"

// Library returns the file to load: the given one, WEFT_MUJOCO's, that of the package
// mujoco of an interpreter, or the system's, in this order. A folder stands for the
// library in it.
func Library(given, interpreter string) (string, error) {
	for _, x := range []struct{ from, path string }{{"option library", given}, {"WEFT_MUJOCO", os.Getenv("WEFT_MUJOCO")}} {
		if x.path == "" {
			continue
		}
		if file := libraryIn(x.path); file != "" {
			return file, nil
		}
		return "", fmt.Errorf("%s names %s, which is not a libmujoco and holds none", x.from, x.path)
	}
	if file := libraryIn(python(interpreter).mujoco); file != "" {
		return file, nil
	}
	if file := System(); file != "" {
		return file, nil
	}
	return "", errors.New("libmujoco was not found: " + Install + ", or name a Python that has it with --python, or the file with option library or WEFT_MUJOCO")
}

// Models returns the folder of model files: the given one, or that of the package
// gymnasium of an interpreter.
func Models(given, interpreter string) (string, error) {
	folder := given
	if folder == "" {
		folder = python(interpreter).gymnasium
	}
	if folder == "" {
		return "", errors.New("the model files of Gymnasium were not found: " + Install + ", or name a Python that has them with --python, or their folder with option models")
	}
	if given == "" {
		folder = filepath.Join(folder, "envs", "mujoco", "assets")
	}
	return folder, nil
}

// libraryIn returns path if it is a file, and otherwise the library in that folder,
// the last by name if there are several.
func libraryIn(path string) string {
	info, err := os.Stat(path)
	if path == "" || err != nil {
		return ""
	}
	if !info.IsDir() {
		return path
	}
	var found []string
	for _, pattern := range []string{"libmujoco.so*", "libmujoco*.dylib", "lib/libmujoco.so*", "lib/libmujoco*.dylib"} {
		files, _ := filepath.Glob(filepath.Join(path, pattern)) // the only error is a bad pattern
		found = append(found, files...)
	}
	if len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// System returns the library where the loader of the system looks for libraries, such as
// that of Debian's package; "" if there is none.
func System() string {
	folders := slices.Concat(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), filepath.SplitList(os.Getenv("DYLD_LIBRARY_PATH")))
	shared, _ := filepath.Glob("/usr/lib/*-linux-gnu") // the only error is a bad pattern
	for _, folder := range slices.Concat(folders, shared, []string{"/usr/local/lib", "/usr/lib64", "/usr/lib"}) {
		if file := libraryIn(folder); file != "" {
			return file
		}
	}
	return ""
}

// packages are the folders of two Python packages, "" where there is none.
type packages struct{ mujoco, gymnasium string }

// ask prints the folders of the packages named, without importing them.
const ask = `
import importlib.util, sys
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    print(spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else "")
`

// patience bounds how long an interpreter may take to start.
const patience = 30 * time.Second

var asked = struct {
	sync.Mutex
	known map[string]packages
}{known: map[string]packages{}}

// python asks an interpreter once; without a name it is WEFT_PYTHON's if that is
// set, or python3.
func python(interpreter string) packages {
	for _, name := range []string{os.Getenv("WEFT_PYTHON"), "python3"} {
		if interpreter == "" {
			interpreter = name
		}
	}
	asked.Lock()
	defer asked.Unlock()
	found, ok := asked.known[interpreter]
	if !ok {
		found = askPython(interpreter)
		asked.known[interpreter] = found
	}
	return found
}

func askPython(interpreter string) packages {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, interpreter, "-c", ask, "mujoco", "gymnasium").Output()
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 2 {
		return packages{} // no Python is no mistake: the library may be elsewhere
	}
	return packages{strings.TrimSpace(lines[0]), strings.TrimSpace(lines[1])}
}
