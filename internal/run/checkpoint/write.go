package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// disk is the part of a file system that writing needs. Tests put one that fails in its place.
type disk interface {
	// create makes a new file and fails if there is one.
	create(path string) (diskFile, error)
	rename(from, to string) error
	remove(path string) error
	// syncDir puts the folder's names on disk.
	syncDir(path string) error
}

// diskFile is a file being written.
type diskFile interface {
	io.WriteCloser
	Sync() error
}

type osDisk struct{}

func (osDisk) create(path string) (diskFile, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}
func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(path string) error     { return os.Remove(path) }
func (osDisk) syncDir(path string) error    { return syncDir(path) }

// smallWrites is the buffer that gathers many small arrays into one system call; larger ones pass
// it by.
const smallWrites = 64 << 10

// write replaces the file at path by f: all of it goes to a temporary file, reaches the disk, and
// only then takes the name, in one step.
func write(d disk, path string, f File, own map[string]string) error {
	m, err := seal(f, own)
	if err == nil {
		err = replace(d, path, m)
	}
	if err != nil {
		return named(path, err)
	}
	return nil
}

func replace(d disk, path string, m image) error {
	temp, file, err := createTemp(d, path)
	if err != nil {
		return err
	}
	err = fill(file, m)
	if err == nil {
		err = d.rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, removeAny(d, temp))
	}
	return d.syncDir(filepath.Dir(path))
}

// fill writes m to file, through to the disk, and closes it.
func fill(file diskFile, m image) error {
	b := bufio.NewWriterSize(fullWriter{file}, smallWrites)
	_, err := m.WriteTo(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// fullWriter makes an error of a write that takes less than it was given, whatever the writer says
// of it.
type fullWriter struct{ w io.Writer }

func (f fullWriter) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if n < len(p) && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

const tempSuffix = ".tmp"

// createTemp makes a hidden file beside path. Its name is random so that two writers never share
// one, and so that what a dead one has left is never in the way.
func createTemp(d disk, path string) (string, diskFile, error) {
	dir, base := filepath.Split(path)
	for {
		temp := fmt.Sprintf("%s.%s.%08x%s", dir, base, rand.Uint32(), tempSuffix)
		file, err := d.create(temp)
		if !errors.Is(err, fs.ErrExist) {
			return temp, file, err
		}
	}
}

// isTemp says whether a file of this name is a temporary one of a checkpoint.
func isTemp(name string) bool {
	return strings.HasPrefix(name, ".") && (strings.Contains(name, extension+".") || strings.Contains(name, blockExtension+".")) && strings.HasSuffix(name, tempSuffix)
}

// removeAny removes a file if it is there.
func removeAny(d disk, path string) error {
	if err := d.remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeDir makes a folder and those above it, so that each is known on disk to the one above.
func makeDir(d disk, path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeDir(d, above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.syncDir(above)
}
