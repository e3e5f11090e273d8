package dataset

import (
	"bytes"
	_ "embed" // of the script
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// script reads what Go does not, and writes it as a NumPy archive.
//
//go:embed import.py
var script string

// foreign reads a file through the user's Python.
func (s Source) foreign(kind, name string) (map[string]array, error) {
	dir, err := os.MkdirTemp("", "weft-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "set.npz")
	if err := runPython(s.Python, script, kind, name, out); err != nil {
		return nil, err
	}
	return readArchive(out)
}

// runPython runs a script with arguments. An error is the last line that the script printed.
func runPython(python, script string, args ...string) error {
	if python == "" {
		python = "python3"
	}
	cmd := exec.Command(python, append([]string{"-c", script}, args...)...)
	var told bytes.Buffer
	cmd.Stderr = &told
	err := cmd.Run()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(told.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		err = errors.New(last)
	}
	return fmt.Errorf("%s failed: %w (--python names another interpreter)", python, err)
}
