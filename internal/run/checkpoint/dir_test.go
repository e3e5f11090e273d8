package checkpoint

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func openDir(t testing.TB, path string, keep int) *Dir {
	t.Helper()
	d, err := Open(path, keep)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func save(t testing.TB, d *Dir, steps ...int64) {
	t.Helper()
	for _, s := range steps {
		if err := d.Save(s, small(byte(s))); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range files {
		list = append(list, f.Name())
	}
	return list
}

// wantSteps checks which steps have a file.
func wantSteps(t testing.TB, d *Dir, steps ...int64) {
	t.Helper()
	var list []string
	for _, s := range steps {
		list = append(list, stepName(s))
	}
	if got := names(t, d.path); !slices.Equal(got, list) {
		t.Errorf("files %v, want %v", got, list)
	}
}

func wantLatest(t testing.TB, d *Dir, step int64, reasons ...string) {
	t.Helper()
	f, got, skipped, err := d.Latest()
	if err != nil || got != step || len(skipped) != len(reasons) {
		t.Fatalf("step %d, skipped %v, %v; want step %d", got, skipped, err, step)
	}
	want(t, f, small(byte(step)))
	for i, r := range reasons {
		if !strings.Contains(skipped[i].Error(), r) {
			t.Errorf("skipped for %v, want %s", skipped[i], r)
		}
	}
}

func tear(t testing.TB, d *Dir, step int64) {
	t.Helper()
	if err := os.Truncate(d.stepPath(step), 200); err != nil {
		t.Fatal(err)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, 0); err == nil || !strings.Contains(err.Error(), "at least 1 must be kept, not 0") {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	put(t, file, nil)
	if _, err := Open(file, 1); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Error(err)
	}
	d := openDir(t, filepath.Join(dir, "none"), 1)
	if _, _, _, err := d.Latest(); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, _, _, err := d.Best(); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if _, err := os.Stat(d.path); !os.IsNotExist(err) {
		t.Error("reading made the folder")
	}
}

func TestSave(t *testing.T) {
	d := openDir(t, filepath.Join(t.TempDir(), "a", "run"), 2)
	save(t, d, 0, 512, 512)
	wantSteps(t, d, 0, 512)
	if got := names(t, d.path)[1]; got != "step-000000000512.safetensors" {
		t.Error(got)
	}
	save(t, d, 1024)
	wantSteps(t, d, 512, 1024)
	wantLatest(t, d, 1024)
	if err := d.Save(-1, small(1)); err == nil {
		t.Error("a negative step")
	}
	save(t, d, math.MaxInt64, 1_000_000_000_001)
	wantLatest(t, d, math.MaxInt64)
	if got := len(names(t, d.path)); got != 2 {
		t.Errorf("%d files", got)
	}
}

func TestLatest(t *testing.T) {
	d := openDir(t, t.TempDir(), 9)
	save(t, d, 1, 2, 3, 4, 5)
	tear(t, d, 5)
	put(t, d.stepPath(4), entries("", 0))
	if err := os.Rename(d.stepPath(2), d.stepPath(3)); err != nil {
		t.Fatal(err)
	}
	for _, ignored := range []string{"step-9.safetensors", "step--00000000001.safetensors", "step-000000000009", "notes.txt", ".step-000000000009.safetensors.00.tmp"} {
		put(t, filepath.Join(d.path, ignored), bytesOf(t, small(9), nil))
	}
	if err := os.Mkdir(d.stepPath(8), 0o777); err != nil {
		t.Fatal(err)
	}
	wantLatest(t, d, 1, "step-000000000005.safetensors: torn: 200 of", "not a checkpoint", `it holds step "2"`)
	tear(t, d, 1)
	if _, _, skipped, err := d.Latest(); !errors.Is(err, ErrNone) || len(skipped) != 4 {
		t.Error(skipped, err)
	}
}

func TestPrune(t *testing.T) {
	for name, test := range map[string]struct {
		keep  int
		steps []int64
		spoil func(t *testing.T, d *Dir)
		save  int64
		want  []int64
	}{
		"newest":                  {2, []int64{1, 2}, func(*testing.T, *Dir) {}, 3, []int64{2, 3}},
		"torn in between":         {2, []int64{1, 2}, func(t *testing.T, d *Dir) { tear(t, d, 2) }, 3, []int64{1, 2, 3}},
		"newer and torn":          {1, []int64{1, 9}, func(t *testing.T, d *Dir) { save(t, d, 9); tear(t, d, 9) }, 3, []int64{3, 9}},
		"older and torn":          {1, []int64{1}, func(t *testing.T, d *Dir) { tear(t, d, 1) }, 3, []int64{3}},
		"newer, from elsewhere":   {1, []int64{1}, func(t *testing.T, d *Dir) { put(t, d.stepPath(9), entries("", 0)) }, 3, []int64{3, 9}},
		"back to an earlier step": {1, []int64{9}, func(*testing.T, *Dir) {}, 3, []int64{3, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, again := range []bool{false, true} {
				d := openDir(t, t.TempDir(), test.keep)
				save(t, d, test.steps...)
				test.spoil(t, d)
				if again { // a process that knows nothing of what the last one saved
					d = openDir(t, d.path, test.keep)
				}
				save(t, d, test.save)
				wantSteps(t, d, test.want...)
			}
		})
	}
}

// A file is read for pruning only if it is not known: what is known and unchanged is believed.
func TestPruneRemembers(t *testing.T) {
	d := openDir(t, t.TempDir(), 2)
	save(t, d, 1, 2)
	info, err := os.Stat(d.stepPath(2))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(d.stepPath(2), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte("spoiled"), 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Close(), os.Chtimes(d.stepPath(2), info.ModTime(), info.ModTime())); err != nil {
		t.Fatal(err)
	}
	save(t, d, 3)
	wantSteps(t, d, 2, 3)
	d = openDir(t, d.path, 2)
	save(t, d, 4)
	wantSteps(t, d, 3, 4)
}

func TestPruneTemps(t *testing.T) {
	d := openDir(t, t.TempDir(), 1)
	for _, name := range []string{".step-000000000001.safetensors.0badf00d.tmp", ".best.safetensors.00000001.tmp", ".lock", ".mine.tmp"} {
		put(t, filepath.Join(d.path, name), []byte("x"))
	}
	save(t, d, 1)
	if got := names(t, d.path); !slices.Equal(got, []string{".lock", ".mine.tmp", stepName(1)}) {
		t.Error(got)
	}
}

func TestPruneFails(t *testing.T) {
	d := openDir(t, t.TempDir(), 1)
	save(t, d, 1)
	flaky := newFlaky(-1, errors.New("read-only"))
	d.disk = flaky
	flaky.at = len(operations(t)) - 2 // one write fewer, and then the removing
	err := d.Save(2, small(2))
	if err == nil || !strings.Contains(err.Error(), "checkpoint of step 2 is saved, but old ones could not be removed: read-only") {
		t.Errorf("%v after %v", err, flaky.log)
	}
	wantLatest(t, d, 2)
}

func TestBest(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir, 1)
	for _, s := range []struct {
		score float64
		step  int64
		best  int64
	}{
		{math.NaN(), 1, 0},
		{math.Inf(-1), 2, 2},
		{-1.5, 3, 3},
		{-1.5, 4, 3},
		{-2, 5, 3},
		{math.NaN(), 6, 3},
		{0.1 + 0.2, 7, 7},
		{0.3, 8, 7},
		{math.Inf(1), 9, 9},
		{math.Inf(1), 10, 9},
	} {
		for range 2 {
			if err := d.SaveBest(s.score, s.step, small(byte(s.step))); err != nil {
				t.Fatal(err)
			}
			d = openDir(t, dir, 1) // and again by a process that has to read the score
		}
		f, score, step, err := d.Best()
		if s.best == 0 {
			if !errors.Is(err, ErrNone) {
				t.Errorf("step %d: %v", s.step, err)
			}
			continue
		}
		if err != nil || step != s.best || s.best == s.step && score != s.score {
			t.Errorf("step %d: best is %d with %g, %v", s.step, step, score, err)
		}
		want(t, f, small(byte(step)))
	}
	if err := d.SaveBest(1, -1, small(1)); err == nil {
		t.Error("a negative step")
	}
	if _, _, _, err := d.Latest(); !errors.Is(err, ErrNone) {
		t.Errorf("the best counts as the latest: %v", err)
	}
}

func TestBestReplaces(t *testing.T) {
	good := bytesOf(t, small(1), map[string]string{keyStep: "1", keyScore: "9"})
	for name, test := range map[string]struct {
		old  []byte
		step int64
		kind error
	}{
		"good":    {good, 1, nil},
		"torn":    {good[:300], 2, nil},
		"foreign": {entries("", 0), 2, nil},
		"unnamed": {bytesOf(t, small(1), nil), 2, nil},
		"newer":   {[]byte(strings.Replace(string(good), `format":"1"`, `format":"3"`, 1)), 0, ErrVersion},
	} {
		t.Run(name, func(t *testing.T) {
			d := openDir(t, t.TempDir(), 1)
			put(t, d.bestPath(), test.old)
			if err := d.SaveBest(2, 2, small(2)); !errors.Is(err, test.kind) {
				t.Error(err)
			}
			if _, _, step, err := d.Best(); step != test.step || !errors.Is(err, test.kind) {
				t.Errorf("step %d, %v", step, err)
			}
		})
	}
}

// A failed write is not taken for the best.
func TestBestFails(t *testing.T) {
	d := openDir(t, t.TempDir(), 1)
	d.disk = newFlaky(2, errCrash)
	if err := d.SaveBest(5, 5, small(5)); !errors.Is(err, errCrash) {
		t.Error(err)
	}
	if err := d.SaveBest(4, 4, small(4)); err != nil {
		t.Error(err)
	}
	if _, score, _, err := d.Best(); score != 4 || err != nil {
		t.Error(score, err)
	}
}

// A failed write may have taken the name all the same: then it is the one to beat.
func TestBestUnsure(t *testing.T) {
	d := openDir(t, t.TempDir(), 1)
	if err := d.SaveBest(1, 1, small(1)); err != nil {
		t.Fatal(err)
	}
	flaky := newFlaky(5, errCrash)
	d.disk = flaky
	if err := d.SaveBest(5, 5, small(5)); !errors.Is(err, errCrash) || flaky.log[flaky.at] != "syncDir" {
		t.Error(err, flaky.log)
	}
	if err := d.SaveBest(3, 3, small(3)); err != nil {
		t.Error(err)
	}
	if _, score, _, err := d.Best(); score != 5 || err != nil {
		t.Error(score, err)
	}
}
