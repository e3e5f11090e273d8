package coordinator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
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
	all, err := filepath.Glob(filepath.Join(r.dir, "metrics*.jsonl")) // in order
	text := ""
	for _, path := range all {
		part, e := os.ReadFile(path)
		text, err = text+string(part), errors.Join(err, e)
	}
	if err != nil || text != want {
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
	if err := r.write(1, 0, []byte(rows("1"))); !errors.As(err, new(gap)) { // it is not here
		t.Errorf("lines without a record are taken: %v", err)
	}
	if err := r.rewind(1, -1, false, 0); err != nil {
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
	if err := r.rewind(2, 2, false, 0); err != nil {
		t.Fatal(err)
	}
	if err := old.write(1, 0, []byte(rows("9", "9"))); err != nil { // by one that no longer acts
		t.Error(err)
	}
	old.close()
	put(1, 0, rows("7"))
	put(2, 0, rows("3"))
	r.holds(t, rows("1", "2", "3"))
	if err := r.rewind(1, 1, false, 0); err == nil {
		t.Error("an epoch begins after a later one")
	}
	r.holds(t, rows("1", "2", "3"))
	if err := r.write(2, 1000, []byte("x")); err == nil {
		t.Error("lines with a gap before them are taken")
	}
	r.close()
}

// A run that is submitted again, because the coordinator was killed while it made its folder, has a
// whole one; another run has no place in it.
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

// A coordinator that is killed while it takes a record back leaves one that the next can go on
// with: what is said again of the epoch before is no gap in it.
func TestRewoundInPart(t *testing.T) {
	r := &record{dir: t.TempDir()}
	if err := r.rewind(1, -1, false, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.write(1, 0, []byte(rows("1", "2", "3"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.dir, recordFile)
	if err := os.Mkdir(path+".tmp", 0o755); err != nil { // so that it does not come to the end
		t.Fatal(err)
	}
	if err := r.rewind(2, 1, false, 0); err == nil {
		t.Fatal("a record was taken back over a folder")
	}
	if err := errors.Join(os.Remove(path+".tmp"), os.WriteFile(path, []byte(rows("1")), 0o644)); err != nil {
		t.Fatal(err)
	}
	r = &record{dir: r.dir} // another coordinator's
	defer r.close()
	if err := r.write(1, int64(len(rows("1", "2", "3"))), []byte(rows("4"))); err != nil {
		t.Error(err)
	}
	r.holds(t, rows("1"))
	if err := r.rewind(3, 1, false, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.write(3, 0, []byte(rows("2"))); err != nil {
		t.Error(err)
	}
	r.holds(t, rows("1", "2"))
}

// Who speaks of an epoch while the next one is about to begin is not kept waiting, and not heard.
func TestCutting(t *testing.T) {
	r := &record{dir: t.TempDir()}
	defer r.close()
	if err := r.rewind(1, -1, false, 0); err != nil {
		t.Fatal(err)
	}
	r.cutting = true
	_, err := r.commit(1, part.Manifest{Step: 1})
	if err := errors.Join(r.write(1, 0, []byte(rows("1"))), r.sync(), err, r.whole(1, 9)); err != nil || r.file != nil {
		t.Error(err)
	}
	r.holds(t, "")
}

// The record of a run that is over is closed, and stays as it is until another epoch begins.
func TestRetired(t *testing.T) {
	a := &acting{}
	a.records.dir = t.TempDir()
	r := a.records.of("run")
	defer r.close()
	if err := r.rewind(1, -1, false, 0); err != nil {
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
	if err := r.lane.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r.file != nil {
		t.Error("its file is still open")
	}
	put(1, int64(len(rows("1"))), rows("2"))
	if r.holds(t, rows("1")); r.file != nil {
		t.Error("its file is open again")
	}
	if err := r.rewind(2, 1, false, 0); err != nil {
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

// A record whose files are closed when they are large is the same, for whichever coordinator takes
// it up, and wherever the one before it was killed.
func TestRotated(t *testing.T) {
	dir := t.TempDir()
	take := func() *record {
		r := &record{dir: dir, limit: 80}
		t.Cleanup(r.close)
		return r
	}
	r := take()
	if err := r.rewind(1, -1, false, 0); err != nil {
		t.Fatal(err)
	}
	all := rows("1", "2", "3", "4", "5", "6", "7", "8", "9")
	line := int64(len(rows("1")))
	put := func(epoch, from, to int64) {
		t.Helper()
		base := int64(0)
		if epoch > 1 {
			base = 4
		}
		if err := errors.Join(r.write(epoch, (from-base)*line, []byte(all[from*line:to*line])), r.sync()); err != nil {
			t.Fatal(err)
		}
		r.holds(t, all[:to*line])
	}
	put(1, 0, 2)
	put(1, 2, 4) // which closes a file
	if n := len(r.at.Closed); n != 1 {
		t.Fatalf("%d files are closed: %+v", n, r.at)
	}
	before, err := os.ReadFile(filepath.Join(dir, epochFile))
	if err != nil {
		t.Fatal(err)
	}
	put(1, 0, 6) // all of it again, and more
	put(1, 6, 7)
	if n := len(r.at.Closed); n != 2 {
		t.Fatalf("%d files are closed: %+v", n, r.at)
	}
	r.close()
	for _, lost := range []bool{false, true} { // killed when a file was closed, before or after the next was begun
		if err := os.WriteFile(filepath.Join(dir, epochFile), before, 0o644); err != nil {
			t.Fatal(err)
		}
		if r = take(); lost {
			open := filepath.Join(dir, recordFile)
			info, err := os.Stat(open)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() == 0 {
				err = os.Remove(open)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		put(1, 3, 7)
		r.close()
	}
	r = take()
	if at, err := r.commit(1, part.Manifest{Step: 7, Record: 7 * line}); err != nil || at != 7*line {
		t.Errorf("a checkpoint is at %d, %v", at, err)
	}
	if err := r.rewind(2, 4, true, 4*line); err != nil { // into a closed file
		t.Fatal(err)
	}
	r.holds(t, all[:4*line])
	put(2, 4, 9)
	for _, total := range []int64{0, 5 * line} {
		if err := r.whole(2, total); err != nil {
			t.Error(err)
		}
	}
	if err := r.whole(2, 6*line); !errors.As(err, new(gap)) {
		t.Errorf("a line was never written: %v", err)
	}
	if err := os.Truncate(filepath.Join(dir, "metrics.000001.jsonl"), 10); err != nil {
		t.Fatal(err)
	}
	if err := r.whole(2, 0); !errors.As(err, new(gap)) {
		t.Errorf("a closed file lost lines: %v", err)
	}
	if err := r.rewind(3, 9, true, 9*line); err == nil || !strings.Contains(err.Error(), "metrics.000001.jsonl has 10 bytes of the") {
		t.Errorf("an epoch begins without them: %v", err)
	}
}

// Lines that a coordinator before had written, and nobody had acknowledged, are written again or
// removed in the end.
func TestLeftover(t *testing.T) {
	r := &record{dir: t.TempDir(), limit: 80}
	if err := r.rewind(1, -1, false, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.write(1, 0, []byte(rows("1", "2")+rows("8", "9", "10", "11"))); err != nil {
		t.Fatal(err)
	}
	r.close()
	r = &record{dir: r.dir, limit: 80}
	defer r.close()
	at := int64(len(rows("1", "2")))
	if err := errors.Join(r.write(1, at, []byte(rows("3"))), r.sync()); err != nil {
		t.Fatal(err)
	}
	if len(r.at.Closed) > 0 {
		t.Error("a file was closed before its lines were written again")
	}
	if err := r.whole(1, at+int64(len(rows("3")))); err != nil {
		t.Fatal(err)
	}
	r.holds(t, rows("1", "2", "3"))
}

// TestBoard: what TensorBoard shows is written with the record: new lines alone, in a file of each
// epoch.
func TestBoard(t *testing.T) {
	r := &record{dir: t.TempDir()}
	line := func(step int) string {
		return fmt.Sprintf("{\"step\":%d,\"iter\":%d,\"seconds\":1,\"loss\":0.5}\n", step, step)
	}
	files := func() (sizes []int64) {
		names, err := filepath.Glob(filepath.Join(r.dir, "events.out.tfevents.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			info, err := os.Stat(n)
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, info.Size())
		}
		return sizes
	}
	if err := errors.Join(r.rewind(1, -1, false, 0), r.write(1, 0, []byte(line(1)+line(2)))); err != nil {
		t.Fatal(err)
	}
	two := files()
	if err := r.write(1, 0, []byte(line(1)+line(2))); err != nil {
		t.Fatal(err)
	}
	if again := files(); len(two) != 1 || !slices.Equal(again, two) {
		t.Errorf("lines that are sent again are written again: %v, %v", two, again)
	}
	if err := errors.Join(r.write(1, int64(2*len(line(1))), []byte(line(3))), r.rewind(2, 1, false, 0), r.write(2, 0, []byte(line(2)))); err != nil {
		t.Fatal(err)
	}
	if got := files(); len(got) != 2 || got[0] <= two[0] || got[1] == 0 {
		t.Errorf("files of %v bytes", got)
	}
	r.close()
}
