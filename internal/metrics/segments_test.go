package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// generate writes a record with one row a step, of about size bytes, and returns its last step.
func generate(t testing.TB, path string, size int64) (last int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	filler := strings.Repeat(`,"loss/value":0.123456789`, 40)
	for written := int64(0); written < size; {
		last++
		n, _ := fmt.Fprintf(out, "{\"step\":%d,\"iter\":%d,\"seconds\":0%s}\n", last, last, filler)
		written += int64(n)
	}
	if err := errors.Join(out.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return last
}

// A record that is cut at any step, wherever its segments end, holds the lines up to that step, and
// can be gone on with.
func TestSegments(t *testing.T) {
	line := func(step int64, more string) string {
		return fmt.Sprintf("{\"step\":%d,\"iter\":1,\"seconds\":0%s}\n", step, more)
	}
	write := func(path string, limit int64) (lines []string) {
		j := openJSONL(t, path, -1)
		j.record.Limit = limit
		for step := range int64(12) {
			for _, more := range [][]Value{nil, {{"eval/return", 1}}} {
				if more != nil && step%3 != 0 {
					continue
				}
				if err := j.Write(Row{Step: step, Iter: 1, Values: more}); err != nil {
					t.Fatal(err)
				}
				text := ""
				if more != nil {
					text = `,"eval/return":1`
				}
				lines = append(lines, line(step, text))
			}
		}
		return lines
	}
	for _, limit := range []int64{20, 70, 130, 1000} {
		for step := int64(-1); step < 13; step++ {
			for _, all := range []bool{true, false} {
				path := filepath.Join(t.TempDir(), "metrics.jsonl")
				lines := write(path, limit)
				want, reached := "", false
				for _, x := range lines {
					var at int64
					if _, err := fmt.Sscanf(x, `{"step":%d`, &at); err != nil {
						t.Fatal(err)
					}
					if at > step || reached && at == step && !all {
						continue
					}
					want, reached = want+x, at == step
				}
				if err := RewindJSONL(path, step, all); err != nil {
					t.Fatal(err)
				}
				if got := whole(t, path); got != want {
					t.Fatalf("segments of %d, cut behind step %d (%v):\n%swant\n%s", limit, step, all, got, want)
				}
				if err := openJSONL(t, path, 99).Write(Row{Step: 99, Iter: 1}); err != nil {
					t.Fatal(err)
				}
				if got := whole(t, path); got != want+line(99, "") {
					t.Fatalf("after it went on:\n%s", got)
				}
			}
		}
	}
}

// whole returns all files of a record, one after the other, as a shell's pattern does.
func whole(t *testing.T, path string) (out string) {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "metrics*.jsonl")) // in order
	for _, x := range all {
		out += readFile(t, x)
	}
	return out
}

// Lines that somebody else removes from a record are told of.
func TestRecordDamaged(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"truncated": func(path string) error { return os.Truncate(path, 5) },
		"removed":   os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o644))
		},
		"segment":    func(path string) error { return os.Truncate(segmentPath(path, 0), 5) },
		"no segment": func(path string) error { return os.Remove(segmentPath(path, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "metrics.jsonl")
			j, err := OpenJSONL(path, -1)
			if err != nil {
				t.Fatal(err)
			}
			j.record.Limit = 60
			for step := range int64(3) {
				if err := j.Write(Row{Step: step}); err != nil {
					t.Fatal(err)
				}
			}
			sync, err := j.Barrier()
			if err != nil || sync() != nil {
				t.Fatal(err)
			}
			if err := harm(path); err != nil {
				t.Fatal(err)
			}
			_, told := j.Barrier()
			for _, err := range []error{told, j.Close()} {
				if err == nil || !strings.Contains(err.Error(), "lost") {
					t.Errorf("it is told as %v", err)
				}
			}
		})
	}
}
