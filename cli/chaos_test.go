package cli_test

import (
	"strings"
	"testing"
)

// What makes no sense is told at once. That chaos does what it says is tested by its
// own package.
func TestChaosUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ args, want string }{
		{"chaos --faults 0 --processes 0", "2 things are wrong"},
		{"chaos --per-run 0", "--per-run: 0: give at least 1"},
		{"chaos --seconds 0", "--seconds: 0 is too short"},
		{"chaos --patience 0s", "--patience: 0s is too short"},
		{"chaos --record 0", "--record: 0 is too little"},
		{"chaos --kinds rain", "--kinds: \"rain\" is not a kind of fault"},
		{"chaos --fault 3", "unknown flag --fault, did you mean --faults?"},
		{"chaos all", "unknown command"},
	} {
		t.Run(c.args, func(t *testing.T) {
			contains(t, do(t, 2, strings.Fields(c.args)...).errors, c.want)
		})
	}
}
