package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/weft-rl/weft/internal/run/durable"
)

// Folder returns the store in a folder of a file system, shared by all processes. It
// comes into being with the first object.
func Folder(path string) Store { return folder(path) }

type folder string

func (f folder) Under(name string) Store {
	return folder(filepath.Join(string(f), filepath.FromSlash(name)))
}

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

const unfinished = ".part"

// Put writes beside the object's name, and takes the name when all is on disk.
func (f folder) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	if err := CheckName(name); err != nil {
		return err
	}
	path := f.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return lasting(fmt.Errorf("store: %w", err))
	}
	temp := fmt.Sprintf("%s.%08x%s", path, rand.Uint32(), unfinished)
	err := fill(ctx, temp, r, size)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return lasting(errors.Join(fmt.Errorf("store: %s: %w", name, err), removeAny(temp)))
	}
	return durable.Names(filepath.Dir(path))
}

// lasting marks an error that a person has to mend: a full disk, a folder without permission to
// write. A cluster does not try again until then.
func lasting(err error) error {
	for _, why := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, fs.ErrPermission} {
		if errors.Is(err, why) {
			return lastingError{err}
		}
	}
	return err
}

type lastingError struct{ error }

func (e lastingError) Unwrap() error { return e.error }

// Permanent tells a cluster that to try again is in vain.
func (lastingError) Permanent() bool { return true }

func fill(ctx context.Context, path string, r io.Reader, size int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, stopping{ctx, r})
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes were given instead of %d", n, size)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// stopping is a reader that ends with its context.
type stopping struct {
	ctx context.Context
	io.Reader
}

func (s stopping) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

func (f folder) Get(_ context.Context, name string) (io.ReadCloser, int64, error) {
	if err := CheckName(name); err != nil {
		return nil, 0, err
	}
	file, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("store %s: %s: %w", string(f), name, ErrNone)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("store: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("store: %w", err), file.Close())
	}
	return file, info.Size(), nil
}

// List leaves out unfinished files.
func (f folder) List(context.Context) (names []string, err error) {
	err = filepath.WalkDir(string(f), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, unfinished) {
			return err
		}
		rel, err := filepath.Rel(string(f), path)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// Sweep removes what processes that died had begun to write of objects that of names.
func (f folder) Sweep(_ context.Context, of func(object string) bool) error {
	all, err := os.ReadDir(string(f))
	errs := []error{err}
	for _, x := range all {
		name, part := strings.CutSuffix(x.Name(), unfinished)
		if part && of(strings.TrimSuffix(name, filepath.Ext(name))) {
			errs = append(errs, removeAny(f.path(x.Name())))
		}
	}
	return errors.Join(errs...)
}

func (f folder) Delete(_ context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return removeAny(f.path(name))
}

func removeAny(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}
