package plugin

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pythons returns the package folders of the Pythons at hand, those of the environments that the
// user chose first. The interpreter on the path is asked last, because that takes a while; it knows
// best where its packages are.
func pythons(env func(string) string) (roots []string) {
	prefixes := []string{env("VIRTUAL_ENV"), env("CONDA_PREFIX"), ".venv"}
	for _, p := range prefixes {
		if p != "" {
			roots = append(roots, sitePackages(p)...)
		}
	}
	for _, name := range []string{"python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			return append(roots, ask(path)...)
		}
	}
	return roots
}

func sitePackages(prefix string) []string {
	dirs, _ := filepath.Glob(filepath.Join(prefix, "lib", "python3*", "site-packages"))
	for i, d := range dirs {
		if abs, err := filepath.Abs(d); err == nil { // a plugin is loaded by its whole path
			dirs[i] = abs
		}
	}
	return dirs
}

// askLimit is for an interpreter that hangs; an ordinary one answers in a few hundredths of a
// second.
const askLimit = 10 * time.Second

// ask returns the folders that an interpreter imports from. One that fails has none.
func ask(python string) (dirs []string) {
	ctx, cancel := context.WithTimeout(context.Background(), askLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-c", `import sys; print("\n".join(sys.path))`)
	var out bytes.Buffer
	cmd.Stdout = &out
	if cmd.Run() != nil {
		return nil
	}
	for line := range strings.Lines(out.String()) {
		if dir := strings.TrimSpace(line); filepath.IsAbs(dir) {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs
}
