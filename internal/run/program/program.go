// Package program keeps programs that runs bring along in a folder, by their hash. A program is in
// the folder as a whole or not at all, is checked whenever it is used, and leaves when room is
// needed and it has not been used for longest.
package program

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/part"
)

// ErrNone means that a program is not in the folder, or was damaged there and has been removed.
var ErrNone = errors.New("the program is not kept here")

// Folder keeps programs. Several processes may use one folder.
type Folder struct {
	Path string
	Most int64 // bytes of one program
	All  int64 // bytes of all programs
	// Keep reports whether a program stays whatever room is needed; nil keeps none.
	Keep func(hash string) bool

	mu sync.Mutex // held while room is made
}

const (
	unfinished = ".part"   // suffix of a program that is being written
	abandoned  = time.Hour // age of such a file whose writer is gone
)

// Of describes the program in a file of this machine.
func Of(path string) (p part.Program, err error) {
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer f.Close()
	var head bytes.Buffer
	h := sha256.New()
	if p.Size, err = io.Copy(io.MultiWriter(h, &limited{&head}), f); err != nil {
		return p, err
	}
	p.SHA256 = hex.EncodeToString(h.Sum(nil))
	p.Platform, err = platform(head.Bytes())
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return p, err
}

// limited keeps the beginning of what is written to it.
type limited struct{ *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := header - l.Len(); room > 0 {
		l.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// Find returns the path of a program, whose bytes it has checked. Without the program, or with a
// damaged one, which it removes, the error is ErrNone.
func (f *Folder) Find(p part.Program) (string, error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	path := filepath.Join(f.Path, p.SHA256)
	if _, err := os.Lstat(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("program %.12s: %w", p.SHA256, ErrNone)
		}
		return "", err
	}
	is, err := Of(path)
	if is != p {
		if err == nil || is.SHA256 != p.SHA256 {
			err = errors.Join(fmt.Errorf("program %.12s: %w", p.SHA256, ErrNone), os.Remove(path))
		}
		return "", err
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // in a folder that cannot be written to, it is used all the same
	return path, nil
}

// Has reports whether a program of that hash and size is there, without reading it.
func (f *Folder) Has(p part.Program) bool {
	info, err := os.Lstat(filepath.Join(f.Path, p.SHA256))
	return err == nil && info.Mode().IsRegular() && info.Size() == p.Size
}

// Put keeps the program that r reads, if it is the one that p describes. It makes room by removing
// programs that have not been used for longest.
func (f *Folder) Put(ctx context.Context, p part.Program, r io.Reader) error {
	err := p.Check()
	if err == nil && p.Size > f.Most {
		err = fmt.Errorf("program %.12s has %d MiB; the limit is %d", p.SHA256, (p.Size+1<<20-1)>>20, f.Most>>20)
	}
	if err == nil {
		err = os.MkdirAll(f.Path, 0o700)
	}
	if err == nil {
		err = f.room(p)
	}
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(f.Path, "."+p.SHA256[:12]+"-*"+unfinished)
	if err != nil {
		return err
	}
	err = write(ctx, file, p, r)
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(f.Path, p.SHA256))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("program %.12s: %w", p.SHA256, err), os.Remove(file.Name()))
	}
	return durable.Names(f.Path)
}

// write writes and closes the file of a program. It reads no more than the program has.
func write(ctx context.Context, file *os.File, p part.Program, r io.Reader) error {
	var head bytes.Buffer
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, h, &limited{&head}), io.LimitReader(stopping{ctx, r}, p.Size+1))
	sum := hex.EncodeToString(h.Sum(nil))
	switch {
	case err != nil:
	case n > p.Size:
		err = fmt.Errorf("it is larger than the %d bytes that were announced", p.Size)
	case n < p.Size:
		err = fmt.Errorf("it ends after %d of %d bytes", n, p.Size)
	case sum != p.SHA256:
		err = fmt.Errorf("its hash is %.12s: it was damaged on the way, or is another program", sum)
	}
	if err == nil {
		var is string
		if is, err = platform(head.Bytes()); err == nil && is != p.Platform {
			err = fmt.Errorf("it is a program for %s, not for %s", is, p.Platform)
		}
	}
	if err == nil {
		err = errors.Join(file.Chmod(0o500), file.Sync())
	}
	return errors.Join(err, file.Close())
}

// stopping is a reader that ends with its context.
type stopping struct {
	ctx context.Context
	io.Reader
}

func (s stopping) Read(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.Reader.Read(b)
}

// room removes what writers that are gone have left, and then programs until there is room for one
// more.
func (f *Folder) room(p part.Program) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := os.ReadDir(f.Path)
	if err != nil {
		return err
	}
	var kept []fs.FileInfo
	total := p.Size
	for _, x := range all {
		info, err := x.Info()
		if err != nil || !info.Mode().IsRegular() || x.Name() == p.SHA256 || !strings.HasSuffix(x.Name(), unfinished) && len(x.Name()) != len(p.SHA256) {
			continue
		}
		if strings.HasSuffix(x.Name(), unfinished) {
			if time.Since(info.ModTime()) > abandoned {
				_ = os.Remove(filepath.Join(f.Path, x.Name())) // it only takes room
			}
			continue
		}
		kept, total = append(kept, info), total+info.Size()
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, x := range kept {
		if total <= f.All {
			return nil
		}
		if f.Keep != nil && f.Keep(x.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(f.Path, x.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= x.Size()
	}
	if total > f.All {
		return fmt.Errorf("program %.12s: there is no room for it: programs in use have %d MiB of %d", p.SHA256, (total-p.Size)>>20, f.All>>20)
	}
	return nil
}
