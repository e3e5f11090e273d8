package wrap_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

// TestConfined: the recorders of a run that somebody else asked for write into its folder, and
// nothing leads them elsewhere.
func TestConfined(t *testing.T) {
	outside := t.TempDir()
	nothing := func(string) bool { return false }
	for _, file := range []string{filepath.Join(outside, "e.jsonl"), "../e.jsonl", "a/../../e.jsonl"} {
		if _, err := parse(t, "record="+file).Confined(nothing); err == nil || !strings.Contains(err.Error(), "in the run's own folder: name it without the folder") {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := parse(t, "record="+filepath.Join(outside, "e.jsonl")).Confined(func(string) bool { return true }); err != nil {
		t.Errorf("what may be named: %v", err)
	}
	for name, link := range map[string]bool{"a file": false, "a link": true} {
		t.Run(name, func(t *testing.T) {
			dir, secret := t.TempDir(), filepath.Join(outside, "secret")
			if err := os.WriteFile(secret, []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
			if link { // as code of the run may have made it
				if err := os.Symlink(secret, filepath.Join(dir, "e.jsonl")); err != nil {
					t.Fatal(err)
				}
			}
			list, err := parse(t, "record=e.jsonl").Confined(nothing)
			if err != nil {
				t.Fatal(err)
			}
			s := newScope(t)
			g, err := env.OpenGroups(s, wrap.Entry(debug.Kinds, list, dir), 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			err = rl.Catch(func() error {
				for i := range debug.Length + 1 {
					g.Step(act(s, g, i))
				}
				return nil
			})
			if (err != nil) != link || link && !strings.Contains(err.Error(), "path escapes") {
				t.Errorf("%v", err)
			}
			_ = s.Close() // which may fail as the step did
			if text, err := os.ReadFile(secret); err != nil || string(text) != "kept" {
				t.Errorf("the file outside has %q, %v", text, err)
			}
			if !link && len(episodes(t, filepath.Join(dir, "e.jsonl"))) == 0 {
				t.Error("nothing is recorded")
			}
		})
	}
}
