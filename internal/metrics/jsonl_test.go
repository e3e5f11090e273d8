package metrics

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func tempFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func openJSONL(t *testing.T, path string, step int64) *JSONL {
	t.Helper()
	j, err := OpenJSONL(path, step)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func TestJSONLWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	j := openJSONL(t, path, -1)
	rows := []Row{
		{Step: 2048, Iter: 1, Seconds: 0.5, Values: []Value{{"z", 1}, {"a", -2.5e-7}, {`q"<`, 1e300}}},
		{Step: 4096, Iter: 2, Seconds: 1, Values: []Value{{"x", math.NaN()}, {"y", math.Inf(-1)}}},
		{Step: 1 << 60, Iter: 3, Seconds: 2},
	}
	for _, r := range rows {
		if err := j.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"step":2048,"iter":1,"seconds":0.5,"z":1,"a":-2.5e-07,"q\"\u003c":1e+300}
{"step":4096,"iter":2,"seconds":1,"x":null,"y":null}
{"step":1152921504606846976,"iter":3,"seconds":2}
`
	if got := readFile(t, path); got != want {
		t.Errorf("wrote\n%swant\n%s", got, want)
	}
	if err := j.Write(Row{Values: []Value{{"step", 1}}}); err == nil {
		t.Error("a value named step was written")
	}
	got, err := ReadJSONL(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got[0], rows[0]) || !reflect.DeepEqual(got[2], rows[2]) {
		t.Errorf("read %+v", got)
	}
	for _, v := range got[1].Values {
		if !math.IsNaN(v.X) {
			t.Errorf("null was read as %v", v)
		}
	}
}

func TestJSONLResume(t *testing.T) {
	const one, two, three = `{"step":1,"a":1}` + "\n", `{"step":2,"a":0.10}` + "\n", `{"step":3,"a":3}` + "\n"
	const added = `{"step":9,"iter":0,"seconds":0}` + "\n"
	tests := []struct {
		name, old string
		step      int64
		want      string
	}{
		{"anew", one + two, -1, added},
		{"middle", one + two + three, 2, one + two + added}, // the lines as they were, byte for byte
		{"before", two + three, 1, added},
		{"after", one + two, 8, one + two + added},
		{"zero", `{"step":0}` + "\n" + one, 0, `{"step":0}` + "\n" + added},
		{"torn", one + two[:9], 8, one + added},
		{"newline", one + strings.TrimSuffix(two, "\n"), 8, one + two + added},
		{"newline later", one + strings.TrimSuffix(two, "\n"), 1, one + added},
		{"empty", "", 5, added},
		{"anew over rubbish", "rubbish\n", -1, added},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tempFile(t, tt.old)
			if err := openJSONL(t, path, tt.step).Write(Row{Step: 9}); err != nil {
				t.Fatal(err)
			}
			if got := readFile(t, path); got != tt.want {
				t.Errorf("file is\n%swant\n%s", got, tt.want)
			}
			if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
				t.Errorf("left behind: %v", files)
			}
		})
	}
}

func TestJSONLResumeAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	openJSONL(t, path, 5)
	if got := readFile(t, path); got != "" {
		t.Errorf("file is %q", got)
	}
	if _, err := OpenJSONL(filepath.Join(t.TempDir(), "no", "metrics.jsonl"), -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("OpenJSONL in no folder = %v", err)
	}
}

func TestJSONLSpoilt(t *testing.T) {
	for _, line := range []string{"rubbish", `{"step":2`, `{"a":1}`, `{"step":"2"}`, `{"step":1}{"step":2}`, "[1]", "null", ""} {
		old := `{"step":1}` + "\n" + line + "\n" + `{"step":3}` + "\n"
		path := tempFile(t, old)
		_, readErr := ReadJSONL(path)
		_, openErr := OpenJSONL(path, 5)
		for _, err := range []error{readErr, openErr} {
			if err == nil || !strings.Contains(err.Error(), path+": line 2 ") {
				t.Errorf("%q: error is %v", line, err)
			}
		}
		if got := readFile(t, path); got != old {
			t.Errorf("%q: a failed resume changed the file to %q", line, got)
		}
		if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
			t.Errorf("%q: left behind: %v", line, files)
		}
	}
}

func TestReadJSONLTorn(t *testing.T) {
	rows, err := ReadJSONL(tempFile(t, `{"step":1,"iter":1,"seconds":2,"a":3}`+"\n"+`{"step":2,"it`))
	want := []Row{{Step: 1, Iter: 1, Seconds: 2, Values: []Value{{"a", 3}}}}
	if err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("ReadJSONL() = %v, %v", rows, err)
	}
	if _, err := ReadJSONL(tempFile(t, `{"step":1,"a":"x"}`+"\n")); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a string for a number: %v", err)
	}
}

// A journal that failed once may end in half an entry; nothing may follow it.
func TestJournalStopsAfterFailure(t *testing.T) {
	path := tempFile(t, "")
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	j := journal{file: readOnly}
	first := j.append([]byte("x"))
	if first == nil {
		t.Fatal("wrote to a file that is open for reading")
	}
	readOnly.Close()
	if j.file, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	if err := j.append([]byte("y")); err != first {
		t.Errorf("append after a failure = %v, want %v", err, first)
	}
	if err := j.close(); err != nil {
		t.Error(err)
	}
	if got := readFile(t, path); got != "" {
		t.Errorf("file is %q", got)
	}
	if err := j.close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second close = %v", err)
	}
}

func FuzzParseRow(f *testing.F) {
	f.Add([]byte(`{"step":1,"iter":2,"seconds":3,"a":null}`))
	f.Add([]byte(`{"step":1,"a":{"b":1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := parseRow(line)
		if err != nil {
			return
		}
		again, err := parseRow(appendRow(nil, r))
		if err != nil || len(again.Values) != len(r.Values) || again.Step != r.Step || again.Iter != r.Iter {
			t.Errorf("%q: %+v became %+v, %v", line, r, again, err)
		}
	})
}

// What came after the first line of a step stays only where it is not done again.
func TestRewind(t *testing.T) {
	for _, c := range []struct {
		step int64
		all  bool
		want int
	}{{8, true, 2}, {8, false, 1}, {16, true, 3}, {16, false, 3}, {0, false, 0}, {-1, true, 0}} {
		path := filepath.Join(t.TempDir(), "metrics.jsonl")
		text := `{"step":8,"iter":1,"seconds":0}` + "\n" + `{"step":8,"iter":1,"seconds":0,"eval/return":1}` + "\n" + `{"step":16,"iter":2,"seconds":0}` + "\n"
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := RewindJSONL(path, c.step, c.all); err != nil {
			t.Fatal(err)
		}
		if rows, err := ReadJSONL(path); err != nil || len(rows) != c.want {
			t.Errorf("%+v: %d lines, %v", c, len(rows), err)
		}
	}
}

// RewindJSONL does to a record what OpenJSONL does before it opens it. Unless all lines of
// the step itself are to stay, the first of them does alone: what came after it in the
// same step, such as an evaluation, will be done again.
func RewindJSONL(path string, step int64, all bool) error {
	_, err := rewound(path, step, all)
	return err
}
