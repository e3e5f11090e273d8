package dataset_test

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/data/datatest"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/data/parquet"
	"github.com/weft-rl/weft/internal/dataset"
	"github.com/weft-rl/weft/rl"
)

// archive writes a NumPy archive of float32 arrays [rows, ...], or of bytes if a shape has no
// comma.
func archive(t *testing.T, path string, arrays map[string][]float32, dims map[string]string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, x := range arrays {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }\n", dims[name])
		_, err = fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c%s", len(head)%256, len(head)/256, head)
		if err == nil {
			err = binary.Write(w, binary.LittleEndian, x)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// steps returns arrays of five steps in two episodes: one of three steps that terminates, and one
// of two that is cut off.
func steps() (arrays map[string][]float32, dims map[string]string) {
	arrays = map[string][]float32{
		"observations": {0, 10, 1, 11, 2, 12, 4, 14, 5, 15}, "next_observations": {1, 11, 2, 12, 3, 13, 5, 15, 6, 16},
		"actions": {.1, .2, .3, .4, .5}, "rewards": {1, 2, 3, 4, 5}, "terminals": {0, 0, 1, 0, 0}, "timeouts": {0, 0, 0, 0, 0},
	}
	dims = map[string]string{"observations": "5, 2", "next_observations": "5, 2", "actions": "5, 1", "rewards": "5,", "terminals": "5,", "timeouts": "5,"}
	return arrays, dims
}

func opened(t *testing.T, path string) data.Source {
	t.Helper()
	s, err := data.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestArchive: steps of a NumPy archive become the same data set as those of a CSV file.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	arrays, dims := steps()
	archive(t, filepath.Join(dir, "x.npz"), arrays, dims)
	m, err := dataset.Import(filepath.Join(dir, "x"), dataset.Source{Path: filepath.Join(dir, "x.npz"), Action: rl.Box{Dims: []int{1}}})
	if err != nil {
		t.Fatal(err)
	}
	s := opened(t, filepath.Join(dir, "x"))
	datatest.Check(t, s)
	if m.Episodes != 2 || m.Steps != 5 || m.Returns.Max != 9 || m.Returns.Min != 6 {
		t.Errorf("%+v", m)
	}
	first, err := data.Read(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	if obs := first.Columns[0].([]float32); obs[6] != 3 || obs[7] != 13 || !first.Columns[3].([]bool)[2] || first.Columns[4].([]bool)[2] {
		t.Errorf("final observation %v, ends %v %v", obs[6:], first.Columns[3], first.Columns[4])
	}
	second, err := data.Read(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Columns[4].([]bool)[1] || second.Columns[3].([]bool)[1] {
		t.Error("steps behind the last end are not an episode that was truncated")
	}
	text := "episode,obs_0,obs_1,action,reward,terminated,truncated\n" +
		"a,0,10,.1,1,false,false\na,1,11,.2,2,false,false\na,2,12,.3,3,true,false\na,3,13,,,,\n" +
		"b,4,14,.4,4,0,0\nb,5,15,.5,5,0,1\nb,6,16,,,,\n"
	if err := os.WriteFile(filepath.Join(dir, "x.csv"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := dataset.Import(filepath.Join(dir, "y"), dataset.Source{Path: filepath.Join(dir, "x.csv"), Action: rl.Box{Dims: []int{1}}})
	if err != nil {
		t.Fatal(err)
	}
	if again.Checksum != m.Checksum {
		t.Errorf("the same steps have the checksum %s from a CSV file and %s from an archive", again.Checksum, m.Checksum)
	}
}

// TestMalformed: what is wrong is said with the file, and where it can be with episode and row, and
// nothing is left.
func TestMalformed(t *testing.T) {
	const header = "episode,obs,action,reward,terminated,truncated\n"
	for _, c := range []struct{ name, file, text, want string }{
		{"column", "x.csv", "episode,obs,reward,terminated,truncated\n", `there is no column "action"`},
		{"number", "x.csv", header + "a,0,1,x,false,false\n", `episode a: row 0: "x" is not a number`},
		{"flag", "x.csv", header + "a,0,1,1,perhaps,false\n", `episode a: row 0: terminated is "perhaps", not true or false`},
		{"final", "x.csv", header + "a,0,1,1,true,false\nb,0,1,1,true,false\n", `episode a: row 1: the final observation of episode a is missing`},
		{"NaN", "x.csv", header + "a,0,1,1,false,false\na,NaN,1,1,true,false\na,2,,,,\n", `episode 0: row 1: column "obs" is NaN`},
		{"kind", "x.txt", "", `files ending in ".txt" are not imported`},
		{"archive", "x.npz", "PK", `it is no NumPy archive`},
		{"records", "x.jsonl", "{", `episode 0: unexpected EOF`},
		{"nothing", "x.csv", header, `the final observation of episode "" is missing`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, c.file)
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := dataset.Import(filepath.Join(dir, "set"), dataset.Source{Path: path})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path) {
				t.Errorf("%v, want %s: ... %s", err, path, c.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
	t.Run("space", func(t *testing.T) {
		dir := t.TempDir()
		arrays, dims := steps()
		archive(t, filepath.Join(dir, "x.npz"), arrays, dims)
		_, err := dataset.Import(filepath.Join(dir, "set"), dataset.Source{Path: filepath.Join(dir, "x.npz"), Obs: rl.Box{Dims: []int{3}}})
		if err == nil || !strings.Contains(err.Error(), "mismatched space: observations have 2 numbers a row, Box(-Inf..+Inf, [3]) has 3") {
			t.Error(err)
		}
		_, err = dataset.Import(filepath.Join(dir, "set"), dataset.Source{Path: filepath.Join(dir, "x.npz"), Action: rl.Box{Low: []float64{0}, High: []float64{.25}, Dims: []int{1}}})
		if err == nil || !strings.Contains(err.Error(), `episode 0: row 2: number 0 of column "action" is 0.3`) {
			t.Error(err)
		}
		delete(arrays, "next_observations")
		archive(t, filepath.Join(dir, "x.npz"), arrays, dims)
		_, err = dataset.Import(filepath.Join(dir, "set"), dataset.Source{Path: filepath.Join(dir, "x.npz")})
		if err == nil || !strings.Contains(err.Error(), `there is no array "next_observations"`) {
			t.Error(err)
		}
	})
}

// write writes a set of debug into a file.
func write(t *testing.T, name, path string) {
	t.Helper()
	s := opened(t, name)
	w, err := parquet.Create(path, s.Meta())
	for i := 0; err == nil && i < len(s.Starts())-1; i++ {
		var e data.Episode
		if e, err = data.Read(s, i); err == nil {
			err = w.Add(e)
		}
	}
	if err == nil {
		_, err = w.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestParts: a set that was split has its episodes in one of two files, and one that was merged has
// those of all.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, "debug:identity", in("set"))
	a, b, err := dataset.Split(in("set"), in("a"), in("b"), .75, 1)
	if err != nil {
		t.Fatal(err)
	}
	if a.Episodes != 48 || b.Episodes != 16 {
		t.Errorf("%d and %d episodes of 64", a.Episodes, b.Episodes)
	}
	m, err := dataset.Merge(in("again"), in("a"), in("b"))
	if err != nil {
		t.Fatal(err)
	}
	whole := opened(t, in("set")).Meta()
	if m.Steps != whole.Steps || m.Returns.Mean != whole.Returns.Mean || m.Checksum == whole.Checksum {
		t.Errorf("%+v of %+v", m, whole)
	}
	if _, err := dataset.Check(in("again")); err != nil {
		t.Error(err)
	}
	write(t, "debug:continuous", in("other"))
	if _, err := dataset.Merge(in("c"), in("a"), in("other")); err == nil || !strings.Contains(err.Error(), "cannot be merged: observations are Box(0..1, [4]) and Box(-1..1, [1])") {
		t.Error(err)
	}
	if _, _, err := dataset.Split(in("set"), in("c"), in("d"), 1, 1); err == nil || !strings.Contains(err.Error(), "both need at least one") {
		t.Error(err)
	}
	h, lengths, err := dataset.Histograms(opened(t, in("other")), 4)
	if err != nil || len(lengths.Counts) != 1 || lengths.Counts[0] != 64 {
		t.Errorf("%+v %+v %v", h, lengths, err)
	}
}

// TestExport: an exported archive has D4RL's arrays, and is imported as the same data set, spaces
// included.
func TestExport(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"debug:identity", "debug:continuous"} {
		want := opened(t, name).Meta()
		if _, err := dataset.Export(name, in("x.npz"), ""); err != nil {
			t.Fatal(err)
		}
		got, err := dataset.Import(in("again"), dataset.Source{Path: in("x.npz")})
		if err != nil {
			t.Fatal(err)
		}
		if got.Checksum != want.Checksum || got.Env != want.Env {
			t.Errorf("%s: checksum %s of %s, want %s of %s", name, got.Checksum, got.Env, want.Checksum, want.Env)
		}
	}
	if _, err := dataset.Export("debug:identity", in("x.csv"), ""); err == nil || !strings.Contains(err.Error(), "a data set is exported as FILE.npz or minari:NAME") {
		t.Error(err)
	}
	if _, err := dataset.Export("debug:identity", in("none/x.npz"), ""); err == nil {
		t.Error("an archive in a folder that is not there")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("%v is left, %v", left, err)
	}
}
