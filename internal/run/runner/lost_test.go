package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run whose record or folder somebody damages while it trains does not end as if nothing had
// happened.
func TestRecordLost(t *testing.T) {
	for name, harm := range map[string]func(dir string) error{
		"truncated": func(dir string) error { return os.Truncate(filepath.Join(dir, recordFile), 10) },
		"removed":   func(dir string) error { return os.Remove(filepath.Join(dir, recordFile)) },
		"folder":    os.RemoveAll,
	} {
		t.Run(name, func(t *testing.T) {
			j := identity(t)
			j.Watch = &spy{iteration: func(r Report) {
				if r.Iter == 4 {
					if err := harm(j.Dir); err != nil {
						t.Error(err)
					}
				}
			}}
			if r, err := Train(t.Context(), j); err == nil || !strings.Contains(err.Error(), "lost") {
				t.Errorf("it ended after %d steps with %v", r.Steps, err)
			}
		})
	}
}

// Nor does one whose record was damaged while it was stopped, unless that is said to be known.
func TestRecordLostBetween(t *testing.T) {
	want := train(t, identity(t))
	j := interrupted(t)
	path := filepath.Join(j.Dir, recordFile)
	truncate(t, path)
	_, err := Prepare(again(j)) // which leaves no trace
	if err == nil || !strings.Contains(err.Error(), "lost") || !strings.Contains(err.Error(), "--lost-record") {
		t.Fatalf("it is resumed with %v", err)
	}
	j = again(j)
	j.LostRecord = true
	sameBits(t, train(t, j), want)
	all := rows(t, j.Dir)
	if n := len(all); n == 0 || n >= 8 || all[n-1].Step != 512 {
		t.Errorf("its record has %d lines", n)
	}
}
