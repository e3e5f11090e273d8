package coordinator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/core"
)

const row = "{\"step\":%,\"iter\":1,\"seconds\":0}\n"

func rows(steps ...string) (out string) {
	for _, s := range steps {
		out += strings.ReplaceAll(row, "%", s)
	}
	return out
}

func (r *record) holds(t *testing.T, want string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(r.dir, recordFile)); err != nil || string(text) != want {
		t.Errorf("the record is %q, %v, want %q", text, err, want)
	}
}

// Lines that are sent again are not there twice, those of an old epoch are dropped, and
// an epoch takes back what came after its checkpoint.
func TestRecord(t *testing.T) {
	r := &record{dir: t.TempDir()}
	put := func(epoch, offset int64, text string) {
		t.Helper()
		if err := r.write(epoch, offset, []byte(text)); err != nil {
			t.Error(err)
		}
	}
	put(1, 0, rows("1")) // nobody has begun it
	if err := r.rewind(1, -1, false); err != nil {
		t.Fatal(err)
	}
	put(1, 0, rows("1", "2"))
	put(1, int64(len(rows("1"))), rows("2", "3"))
	r.holds(t, rows("1", "2", "3"))
	r.close() // another coordinator takes it up
	r = &record{dir: r.dir}
	put(1, 0, rows("1", "2", "3", "4"))
	r.holds(t, rows("1", "2", "3", "4"))
	old := &record{dir: r.dir}
	if err := old.open(); err != nil {
		t.Fatal(err)
	}
	if err := r.rewind(2, 2, false); err != nil {
		t.Fatal(err)
	}
	if err := old.write(1, 0, []byte(rows("9", "9"))); err != nil { // by one that no longer acts
		t.Error(err)
	}
	old.close()
	put(1, 0, rows("7"))
	put(2, 0, rows("3"))
	r.holds(t, rows("1", "2", "3"))
	if err := r.write(2, 1000, []byte("x")); err == nil {
		t.Error("lines with a gap before them are taken")
	}
	r.close()
}

// A run that is submitted again, because the coordinator was killed while it made its folder, has a whole one; another run
// has no place in it.
func TestBegunInPart(t *testing.T) {
	for _, lost := range []string{"", configFile} {
		r := &records{dir: t.TempDir()}
		if err := r.begin("run", "id", "steps: 8"); err != nil {
			t.Fatal(err)
		}
		if lost != "" {
			if err := os.Remove(filepath.Join(r.dir, "run", lost)); err != nil {
				t.Fatal(err)
			}
		}
		r.close()
		r = &records{dir: r.dir}
		if err := r.begin("run", "id", "steps: 8"); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(filepath.Join(r.dir, "run", configFile)); err != nil || string(text) != "steps: 8" {
			t.Errorf("without %q: %q, %v", lost, text, err)
		}
		if err := r.begin("run", "other", "steps: 9"); err == nil {
			t.Error("another run has the folder")
		}
		r.close()
	}
}

// A coordinator that is killed while it takes a record back leaves one that the next can go on with: what is said again of the
// epoch before is no gap in it.
func TestRewoundInPart(t *testing.T) {
	r := &record{dir: t.TempDir()}
	if err := r.rewind(1, -1, false); err != nil {
		t.Fatal(err)
	}
	if err := r.write(1, 0, []byte(rows("1", "2", "3"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.dir, recordFile)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil { // so that it does not come to the end
		t.Fatal(err)
	}
	if err := r.rewind(2, 1, false); err == nil {
		t.Fatal("a folder was taken back")
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(rows("1")), 0o644)); err != nil {
		t.Fatal(err)
	}
	r = &record{dir: r.dir} // another coordinator's
	defer r.close()
	if err := r.write(1, int64(len(rows("1", "2", "3"))), []byte(rows("4"))); err != nil {
		t.Error(err)
	}
	r.holds(t, rows("1"))
	if err := r.rewind(3, 1, false); err != nil {
		t.Fatal(err)
	}
	if err := r.write(3, 0, []byte(rows("2"))); err != nil {
		t.Error(err)
	}
	r.holds(t, rows("1", "2"))
}

// The record of a run that is over is closed, and stays as it is until another epoch begins.
func TestRetired(t *testing.T) {
	a := &acting{}
	a.records.dir = t.TempDir()
	r := a.records.of("run")
	defer r.close()
	if err := r.rewind(1, -1, false); err != nil {
		t.Fatal(err)
	}
	put := func(epoch, offset int64, text string) {
		t.Helper()
		if err := r.write(epoch, offset, []byte(text)); err != nil {
			t.Error(err)
		}
	}
	put(1, 0, rows("1"))
	a.note(core.Run{Name: "run", Phase: core.Stopped})
	if r.file != nil {
		t.Error("its file is still open")
	}
	put(1, int64(len(rows("1"))), rows("2"))
	if r.holds(t, rows("1")); r.file != nil {
		t.Error("its file is open again")
	}
	if err := r.rewind(2, 1, false); err != nil {
		t.Fatal(err)
	}
	put(2, 0, rows("2"))
	r.holds(t, rows("1", "2"))
}

// Whatever a folder says of its epoch, it is taken up or refused.
func FuzzEpoch(f *testing.F) {
	f.Add([]byte(`{"epoch":1,"base":0}`), int64(1), int64(0), []byte("x"))
	f.Add([]byte(`{"epoch":1,"base":-9}`), int64(1), int64(4), []byte("x"))
	f.Fuzz(func(t *testing.T, text []byte, epoch, offset int64, lines []byte) {
		r := &record{dir: t.TempDir()}
		for name, x := range map[string][]byte{epochFile: text, recordFile: []byte(rows("1"))} {
			if err := os.WriteFile(filepath.Join(r.dir, name), x, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_ = r.write(epoch, offset, lines) // not to panic is all
		r.close()
		info, err := os.Stat(filepath.Join(r.dir, recordFile))
		if err != nil || info.Size() > int64(len(rows("1"))+len(lines)) {
			t.Error(info, err)
		}
	})
}
