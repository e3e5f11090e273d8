package weft_test

import (
	"regexp"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
)

// TestPathsAreNamed: every setting that can name a file, a folder or a program says so, so that a
// submitted run is asked whether it may.
func TestPathsAreNamed(t *testing.T) {
	set := weft.Builtin()
	all := map[string]any{"the run": &request.Settings{}}
	for _, a := range set.Algorithms {
		all[a.Name] = a.Config()
	}
	for _, e := range set.Environments {
		if e.Options != nil {
			all[e.ID] = e.Options()
		}
	}
	for _, s := range set.Schemes {
		all[s.Prefix] = s.Options()
	}
	path := regexp.MustCompile(`(?i)\b(file|folder|path|interpreter|library|program|directory)\b`)
	named := 0
	for of, options := range all {
		fields, err := config.Fields(options)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			if f.Names != "" {
				named++
			} else if f.Kind == "string" && path.MatchString(f.Doc) && f.Key != "algorithm" && f.Key != "env" { // packages that are built in
				t.Errorf("%s: %s names a path (%s) and has no tag names", of, f.Key, f.Doc)
			}
		}
	}
	if named < 10 {
		t.Errorf("only %d settings name something", named)
	}
}
