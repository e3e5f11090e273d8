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
func (s Source) foreign(kind, name string) (*table, error) {
	python := s.Python
	if python == "" {
		python = "python3"
	}
	dir, err := os.MkdirTemp("", "weft-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "set.npz")
	cmd := exec.Command(python, "-c", script, kind, name, out)
	var told bytes.Buffer
	cmd.Stderr = &told
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(told.String()), "\n")
		if last := lines[len(lines)-1]; last != "" {
			err = errors.New(last)
		}
		return nil, fmt.Errorf("%s could not read it: %w (--python names another interpreter)", python, err)
	}
	a, err := readArchive(out)
	if err != nil {
		return nil, err
	}
	return fromArchive(a)
}
