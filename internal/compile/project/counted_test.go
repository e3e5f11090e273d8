package project

import (
	"regexp"
	"strings"
	"testing"
)

// TestConditions: edges under a condition on the run's counters say so. Of the fixtures, sac acts
// at random up to a number of steps and by its policy from then on, so that the learner of an
// asynchronous run might wait for an action of the other kind. Built-in algorithms act alike all
// the time. Under dqn's parameter server gradients cross once there are steps enough, and from then
// on for ever.
func TestConditions(t *testing.T) {
	files := map[string]string{}
	for _, r := range generated(t) {
		for name, text := range r.Files {
			files[label(r)+"/"+name] = string(text)
		}
	}
	for _, c := range []struct {
		file, edge string
		want       bool
		lasting    bool
	}{
		{"sac/gen_coarse.go", "act", true, false},
		{"algo-dqn/gen_coarse.go", "action", false, false},
		{"algo-sac/gen_coarse.go", "action", false, false},
		{"algo-dqn/gen_central.go", "g", true, true},
		{"algo-a2c/gen_central.go", "g", false, false},
	} {
		row := regexp.MustCompile(`(?m)^.*\{Name: "` + c.edge + `[".].*$`).FindString(files[c.file])
		if row == "" {
			t.Errorf("%s has no edge %s", c.file, c.edge)
			continue
		}
		if got := strings.Contains(row, "Under: "); got != c.want {
			t.Errorf("%s: under a condition: %v, want %v:%s", c.file, got, c.want, row)
		}
		if got := strings.Contains(row, "Lasting: true"); got != c.lasting {
			t.Errorf("%s: lasting: %v, want %v:%s", c.file, got, c.lasting, row)
		}
	}
}
