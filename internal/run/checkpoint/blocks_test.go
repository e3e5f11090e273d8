package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ring is a large array that knows what has changed in it, as a replay's memory does.
type ring struct {
	data  []byte
	last  []uint64 // by block
	clock uint64
	reads int // blocks that were read
}

// newRing returns a ring of some blocks and a half.
func newRing(blocks int) *ring {
	return &ring{data: make([]byte, blocks*blockSize+blockSize/2), last: make([]uint64, blocks+1)}
}

// put fills a block.
func (r *ring) put(block int, with byte) {
	block %= len(r.last)
	r.clock++
	r.last[block] = r.clock
	lo := block * blockSize
	for i := lo; i < min(lo+blockSize, len(r.data)); i++ {
		r.data[i] = with + byte(i%7)
	}
}

func (r *ring) ReadAt(p []byte, off int64) (int, error) {
	r.reads++
	return bytes.NewReader(r.data).ReadAt(p, off)
}

func (r *ring) Stamp(from, to int64) (s [2]uint64) {
	for b := from / blockSize; b*blockSize < to; b++ {
		s[1] = max(s[1], r.last[b])
	}
	return s
}

// file returns a checkpoint with the ring as it is, and a small array beside it.
func (r *ring) file(content byte) File {
	f := small(content)
	copied := &ring{data: slices.Clone(r.data), last: slices.Clone(r.last)}
	f.Arrays = append(f.Arrays, Array{Name: "ring", DType: "U8", Shape: []int{len(r.data)}, Source: copied})
	return f
}

// loaded returns a checkpoint with all data in memory.
func loaded(t *testing.T, f File) File {
	t.Helper()
	out := File{Meta: f.Meta}
	for _, a := range f.Arrays {
		a, err := a.Load()
		if err != nil {
			t.Fatal(err)
		}
		out.Arrays = append(out.Arrays, a)
	}
	return out
}

// sizes returns the sizes of a folder's block files, by name.
func sizes(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, name := range names(t, dir) {
		if isBlocks(name) {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			out[name] = info.Size()
		}
	}
	return out
}

func sum(m map[string]int64) (n int64) {
	for _, x := range m {
		n += x
	}
	return n
}

// A checkpoint holds what changed since the last: the file of its blocks is as large, and only
// those are read. It is read as a whole, by another process too.
func TestBlocks(t *testing.T) {
	dir, r := t.TempDir(), newRing(20)
	d := openDir(t, dir, 3)
	whole := int64(len(r.data))
	for step, changed := range [][]int{{0}, {3, 4}, {}, {20}} {
		for _, b := range changed {
			r.put(b, byte(step+1))
		}
		before := sum(sizes(t, dir))
		f := r.file(byte(step))
		if err := d.Save(int64(step), f); err != nil {
			t.Fatal(err)
		}
		wrote, reads := sum(sizes(t, dir))-before, f.Arrays[len(f.Arrays)-1].Source.(*ring).reads
		want := []int64{whole, 2 * blockSize, 0, blockSize / 2}[step]
		if wrote != want || reads != []int{21, 2, 0, 1}[step] {
			t.Errorf("step %d wrote %d bytes of blocks, want %d; it read %d", step, wrote, want, reads)
		}
		for _, x := range []*Dir{d, openDir(t, dir, 3)} {
			got, at, skipped, err := x.Latest()
			if err != nil || at != int64(step) || len(skipped) > 0 {
				t.Fatalf("step %d: found %d, skipped %v, %v", step, at, skipped, err)
			}
			wantFile(t, loaded(t, got), loaded(t, f))
		}
	}
}

func wantFile(t *testing.T, got, wanted File) {
	t.Helper()
	want(t, got, File{Meta: wanted.Meta, Arrays: byName(wanted.Arrays)})
}

// A process that goes on from a checkpoint does not write again what is there.
func TestBlocksResumed(t *testing.T) {
	dir, r := t.TempDir(), newRing(20)
	if err := openDir(t, dir, 2).Save(1, r.file(1)); err != nil {
		t.Fatal(err)
	}
	before := sum(sizes(t, dir))
	d := openDir(t, dir, 2)
	f, _, _, err := d.Latest()
	if err != nil {
		t.Fatal(err)
	}
	again := newRing(20) // whose stamps mean something else
	ring, _ := f.Array("ring")
	if _, err := io.ReadFull(ring.reader(), again.data); err != nil {
		t.Fatal(err)
	}
	again.put(7, 9)
	if err := d.Save(2, again.file(2)); err != nil {
		t.Fatal(err)
	}
	if wrote := sum(sizes(t, dir)) - before; wrote != blockSize {
		t.Errorf("wrote %d bytes for one block", wrote)
	}
}

// Files of blocks stay few and no larger than twice the arrays, whatever changes, and those that
// nothing needs are removed; the best checkpoint keeps its own.
func TestBlocksCollected(t *testing.T) {
	dir, r := t.TempDir(), newRing(mostFiles+6)
	d := openDir(t, dir, 2)
	var best File
	for step := range int64(90) {
		r.put(int(step), byte(step))
		if err := d.Save(step, r.file(byte(step))); err != nil {
			t.Fatal(err)
		}
		if step == 20 {
			best = r.file(20)
			if err := d.SaveBest(1, step, best); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := sizes(t, dir)
	if n := len(filesOf(d.blocks)); n > mostFiles+1 || sum(all) > 3*int64(len(r.data)) { // the best one has some of its own by now
		t.Errorf("%d files of the newest, %d bytes in all for %d", n, sum(all), len(r.data))
	}
	f, _, _, err := d.Best()
	if err != nil {
		t.Fatal(err)
	}
	wantFile(t, loaded(t, f), loaded(t, best))
	for _, step := range []int64{100, 101, 102} { // small ones need no blocks
		if err := d.Save(step, small(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(d.bestPath()); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(103, small(1)); err != nil {
		t.Fatal(err)
	}
	if left := sizes(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A block file that is damaged is said to be, and the newest checkpoint that does not need it
// counts.
func TestBlocksDamaged(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(path string) error
		says string
	}{
		"missing": {os.Remove, "is missing"},
		"torn":    {func(path string) error { return os.Truncate(path, blockSize/2) }, "is torn"},
		"altered": {func(path string) error {
			data, err := os.ReadFile(path)
			if err == nil {
				data[100]++
				err = os.WriteFile(path, data, 0o666)
			}
			return err
		}, "has been altered"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, r := t.TempDir(), newRing(10)
			d := openDir(t, dir, 3)
			if err := d.Save(1, r.file(1)); err != nil {
				t.Fatal(err)
			}
			first, before := r.file(1), sizes(t, dir)
			r.put(5, 1)
			if err := d.Save(2, r.file(2)); err != nil {
				t.Fatal(err)
			}
			for file := range sizes(t, dir) {
				if _, old := before[file]; !old {
					if err := c.harm(filepath.Join(dir, file)); err != nil {
						t.Fatal(err)
					}
				}
			}
			d = openDir(t, dir, 3)
			f, step, skipped, err := d.Latest()
			if err != nil || step != 1 || len(skipped) != 1 || !errors.Is(skipped[0], ErrDamaged) ||
				!strings.Contains(skipped[0].Error(), c.says) || strings.Contains(skipped[0].Error(), "\n") {
				t.Fatalf("step %d, skipped %v, %v", step, skipped, err)
			}
			wantFile(t, loaded(t, f), loaded(t, first))
			r.put(6, 3)
			if err := d.Save(3, r.file(3)); err != nil { // it does not build on what is damaged
				t.Fatal(err)
			}
			f, step, _, err = openDir(t, dir, 3).Latest()
			if err != nil || step != 3 {
				t.Fatalf("step %d, %v", step, err)
			}
			wantFile(t, loaded(t, f), loaded(t, r.file(3)))
		})
	}
}

// A crash at any operation of saving a few blocks loses nothing: the checkpoint before or the new
// one is there with all its blocks, and what is left over is removed by the next.
func TestBlocksCrash(t *testing.T) {
	r := newRing(4)
	first := r.file(1)
	r.put(2, 2)
	second := r.file(2)
	r.put(3, 3)
	third := r.file(3)
	eachCrash(t,
		func(t *testing.T, dir string, d disk) error {
			run := openDir(t, dir, 1)
			if err := run.Save(1, first); err != nil {
				t.Fatal(err)
			}
			run.disk = d
			return run.Save(2, second)
		},
		func(t *testing.T, dir string, err error) {
			run := openDir(t, dir, 1)
			f, step, skipped, lerr := run.Latest()
			if lerr != nil || len(skipped) > 0 || step < 2 && err == nil {
				t.Errorf("step %d, skipped %v, %v, after %v", step, skipped, lerr, err)
				return
			}
			wantFile(t, loaded(t, f), loaded(t, []File{first, second}[step-1]))
			if err := run.Save(3, third); err != nil {
				t.Error(err)
			}
			f, _, _, lerr = openDir(t, dir, 1).Latest()
			if lerr != nil {
				t.Error(lerr)
				return
			}
			wantFile(t, loaded(t, f), loaded(t, third))
			if files := names(t, dir); len(files) > 4 {
				t.Errorf("left behind: %v", files)
			}
		})
}

// A process killed while it saves blocks has lost nothing of what it said was saved.
func TestBlocksKilled(t *testing.T) {
	for n := 1; n <= 4; n++ {
		dir := t.TempDir()
		_, out, kill := helper(t, "save blocks", dir)
		for range n {
			if !out.Scan() || strings.Contains(out.Text(), ":") {
				t.Fatalf("the other process says %q, %v", out.Text(), out.Err())
			}
		}
		kill()
		f, step, skipped, err := openDir(t, dir, 2).Latest()
		if err != nil || step < int64(n) || len(skipped) > 0 {
			t.Fatalf("after %d saves: step %d, skipped %v, %v", n, step, skipped, err)
		}
		r := newRing(40)
		for i := byte(1); int64(i) <= step; i++ {
			r.put(int(i)*5, i)
		}
		wantFile(t, loaded(t, f), loaded(t, r.file(byte(step))))
	}
}

// What is kept elsewhere than in a Dir is whole.
func TestBlocksEncoded(t *testing.T) {
	r := newRing(6)
	r.put(3, 1)
	f := r.file(1)
	o, err := Encode(7, f)
	if err != nil {
		t.Fatal(err)
	}
	got, step, err := Decode(o.Reader(), o.Size(), o.SHA256())
	if err != nil || step != 7 {
		t.Fatal(step, err)
	}
	wantFile(t, got, loaded(t, f))
	if a, b := StateSHA256(f.Arrays), StateSHA256(got.Arrays); a != b {
		t.Errorf("the state is %s from its source and %s from memory", a, b)
	}
	dir := openDir(t, t.TempDir(), 1)
	if err := dir.Save(1, f); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(dir.stepPath(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Decode(bytes.NewReader(file), int64(len(file)), ""); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "other files") {
		t.Errorf("a checkpoint without its blocks: %v", err)
	}
}
