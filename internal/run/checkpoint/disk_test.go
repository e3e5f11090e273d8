package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

var errCrash = errors.New("crash")

// flakyDisk is a real disk that fails at one operation, and on which a power cut can be acted out:
// then data that were not synced are half gone, and a new name that was not synced may be gone too.
type flakyDisk struct {
	osDisk
	log []string // operations so far
	// at is the operation to fail, err what it then says. A late failure comes after its effect.
	at   int
	err  error
	late bool
	dead bool // whether all later ones fail as well

	unsynced map[string]bool
	renames  []renamed
}

// renamed is a rename that the folder does not know on disk yet, and what it replaced.
type renamed struct {
	from, to string
	old      []byte
}

// do runs an operation, or fails it.
func (d *flakyDisk) do(name string, effect func() error) error {
	i := len(d.log)
	d.log = append(d.log, name)
	if i == d.at && d.late {
		if err := effect(); err != nil {
			return err
		}
	}
	if i == d.at || i > d.at && d.dead {
		return d.err
	}
	return effect()
}

func (d *flakyDisk) create(path string) (f diskFile, err error) {
	err = d.do("create", func() error {
		file, err := d.osDisk.create(path)
		d.unsynced[path] = true
		f = &flakyFile{file, d, path}
		return err
	})
	return f, err
}

func (d *flakyDisk) rename(from, to string) error {
	return d.do("rename", func() error {
		old, _ := os.ReadFile(to)
		d.renames = append(d.renames, renamed{from, to, old})
		d.unsynced[to] = d.unsynced[from]
		delete(d.unsynced, from)
		return d.osDisk.rename(from, to)
	})
}

func (d *flakyDisk) remove(path string) error {
	return d.do("remove", func() error { return d.osDisk.remove(path) })
}

func (d *flakyDisk) syncDir(path string) error {
	return d.do("syncDir", func() error {
		d.renames = nil
		return d.osDisk.syncDir(path)
	})
}

// powerCut leaves on disk what may be left there.
func (d *flakyDisk) powerCut(t *testing.T, undo bool) {
	t.Helper()
	for path, lost := range d.unsynced {
		if info, err := os.Stat(path); lost && err == nil {
			if err := os.Truncate(path, info.Size()/2); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, r := range d.renames {
		if !undo {
			break
		}
		if err := os.Rename(r.to, r.from); err != nil {
			t.Fatal(err)
		}
		if r.old != nil {
			put(t, r.to, r.old)
		}
	}
}

type flakyFile struct {
	diskFile
	d    *flakyDisk
	path string
}

// Write takes half of what it is given when it fails, as a full disk does.
func (f *flakyFile) Write(p []byte) (n int, err error) {
	n = len(p) / 2
	err = f.d.do("write", func() error {
		n, err = f.diskFile.Write(p)
		return err
	})
	if err != nil || n < len(p) {
		f.diskFile.Write(p[:n])
	}
	if errors.Is(err, errSilent) {
		return n, nil
	}
	return n, err
}

// errSilent makes a short write that does not say that it is one.
var errSilent = errors.New("silent")

func (f *flakyFile) Sync() error {
	return f.d.do("sync", func() error {
		f.d.unsynced[f.path] = false
		return f.diskFile.Sync()
	})
}

func (f *flakyFile) Close() error {
	f.diskFile.Close() // a dead process leaves no open file either
	return f.d.do("close", func() error { return nil })
}

func newFlaky(at int, err error) *flakyDisk {
	return &flakyDisk{at: at, err: err, unsynced: map[string]bool{}}
}

// big returns larger than the buffer for small writes, so that writing takes more than one
// operation.
func big(content byte) File {
	f := small(content)
	f.Arrays = append(f.Arrays, Array{"big", "U8", []int{3 * smallWrites}, make([]byte, 3*smallWrites), nil})
	return f
}

// operations returns the operations of one Write.
func operations(t *testing.T) []string {
	t.Helper()
	d := newFlaky(-1, nil)
	if err := write(d, filepath.Join(t.TempDir(), "x.safetensors"), big(1), nil); err != nil {
		t.Fatal(err)
	}
	return d.log
}

func TestOrder(t *testing.T) {
	got := strings.Join(operations(t), " ")
	if want := "create write write write sync close rename syncDir"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An operation that fails leaves the old file, or the new one if that had its name already, and no
// other.
func TestWriteFails(t *testing.T) {
	for at, op := range operations(t) {
		for _, cause := range []error{syscall.ENOSPC, errors.New("input/output error"), errSilent} {
			if cause == errSilent && op != "write" {
				continue
			}
			t.Run(op+" "+cause.Error(), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.safetensors")
				if err := Write(path, big(1)); err != nil {
					t.Fatal(err)
				}
				err := write(newFlaky(at, cause), path, big(2), nil)
				if err == nil || cause != errSilent && !errors.Is(err, cause) {
					t.Errorf("error %v", err)
				}
				content := byte(1)
				if op == "syncDir" {
					content = 2
				}
				f, err := Read(path)
				if err != nil {
					t.Fatal(err)
				}
				want(t, f, big(content))
				if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
					t.Errorf("left behind: %v", files)
				}
			})
		}
	}
}

// eachCrash runs save on a disk that dies at each of its operations in turn, before or after its
// effect, with and without a power cut that takes what is not synced. check sees what is left.
func eachCrash(t *testing.T, save func(t *testing.T, dir string, d disk) error, check func(t *testing.T, dir string, err error)) {
	for at, alive := 0, true; alive; at++ {
		for _, mode := range []string{"before", "after", "power", "power undo"} {
			dir := t.TempDir()
			d := newFlaky(at, errCrash)
			d.dead, d.late = true, mode != "before"
			err := save(t, dir, d)
			if strings.HasPrefix(mode, "power") {
				d.powerCut(t, mode == "power undo")
			}
			check(t, dir, err)
			alive = at < len(d.log)
			if t.Failed() {
				t.Fatalf("%s operation %d of %v", mode, at, d.log)
			}
		}
	}
}

func TestCrash(t *testing.T) {
	eachCrash(t,
		func(t *testing.T, dir string, d disk) error {
			path := filepath.Join(dir, "x.safetensors")
			if err := Write(path, big(1)); err != nil {
				t.Fatal(err)
			}
			return write(d, path, big(2), nil)
		},
		func(t *testing.T, dir string, err error) {
			f, rerr := Read(filepath.Join(dir, "x.safetensors"))
			if rerr != nil {
				t.Error(rerr)
				return
			}
			if content := f.Arrays[1].Data[0]; content != 2 && (err == nil || content != 1) {
				t.Errorf("content %d after %v", content, err)
			}
			if files, _ := os.ReadDir(dir); len(files) > 2 {
				t.Errorf("left behind: %v", files)
			}
		})
}

func TestCrashInDir(t *testing.T) {
	open := func(t *testing.T, dir string) *Dir {
		d, err := Open(filepath.Join(dir, "new", "run"), 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	eachCrash(t,
		func(t *testing.T, dir string, d disk) error {
			run := open(t, dir)
			if err := run.Save(1, big(1)); err != nil {
				t.Fatal(err)
			}
			run.disk = d
			return run.Save(2, big(2))
		},
		func(t *testing.T, dir string, err error) {
			run := open(t, dir)
			f, step, skipped, lerr := run.Latest()
			if lerr != nil || len(skipped) > 0 || step < 2 && err == nil {
				t.Errorf("step %d, skipped %v, %v, after %v", step, skipped, lerr, err)
				return
			}
			want(t, f, big(byte(step)))
			if err := run.Save(3, big(3)); err != nil {
				t.Error(err)
			}
			if files, _ := os.ReadDir(run.path); len(files) != 1 {
				t.Errorf("left behind: %v", files)
			}
		})
}
