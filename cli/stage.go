package cli

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// programs is the folder of staged programs, beside the folders of runs.
const programs = ".programs"

// stage copies a program into a folder of runs, which all machines of a job see, under its hash,
// and returns the path of the copy. A job that waits or is requeued runs that copy, whatever has
// become of the program. A program that is there already is not copied again. What stage makes is
// added to undo.
func stage(program, runs string, undo *[]func() error) (string, error) {
	hash, err := hashFile(program)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(runs, programs)
	to := filepath.Join(dir, "weft-"+hash[:16])
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	if err := makeFolder(dir, undo); err != nil {
		return "", err
	}
	if err := copyProgram(program, to); err != nil {
		return "", err
	}
	*undo = append(*undo, func() error { return os.Remove(to) })
	return to, nil
}

// copyProgram copies an executable file. Nobody sees a part of it.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".staging-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = cmp.Or(errors.Join(err, out.Chmod(0o755), out.Sync(), out.Close()), os.Rename(out.Name(), to))
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}
