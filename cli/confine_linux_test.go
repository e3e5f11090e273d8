package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// TestSubmittedConfined: a run that another user submitted neither writes outside of its folder nor
// has a program started that it names, and its user is told what to do instead.
func TestSubmittedConfined(t *testing.T) {
	marks := t.TempDir()
	mark := filepath.Join(marks, "started")
	python := interpreter(t, "touch "+mark)
	w := newTown(t, map[string]string{"alice": "submit", "gpu1": "work"}, "--allow=/nowhere")
	w.work("a", "gpu1")
	const ppo = "algorithm: ppo\nenv: CartPole-v1\nsteps: 64\n"
	all := map[string]struct{ config, want string }{
		"python":  {gymnasium(python), "python: a submitted run may not name the program " + python + " of the machines that train: start weft coordinator and weft worker with --allow " + filepath.Dir(python) + ", or set WEFT_PYTHON"},
		"option":  {"algorithm: ppo\nenv: gym:CartPole-v1?python=" + python + "\nsteps: 640\n", "may not name the program " + python},
		"library": {"algorithm: ppo\nenv: Ant-v5?library=" + python + "\nsteps: 640\n", "library: a submitted run may not name the program"},
		"model":   {"algorithm: ppo\nenv: Ant-v5?xml_file=/etc/passwd\nsteps: 640\n", "may not name the file /etc/passwd"},
		"folder":  {"algorithm: ppo\nenv: Ant-v5?models=/etc\nsteps: 640\n", "may not name the folder /etc"},
		"storage": {"algorithm: dqn\nenv: CartPole-v1\nsteps: 64\nstorage: disk:" + marks + "\n", "storage: a submitted run may not name the folder " + marks},
		"record":  {ppo + "wrap: record=" + mark + "\n", "--wrap: record=" + mark + ": the file of a submitted run is in the run's own folder"},
		"above":   {ppo + "wrap: record=../../" + filepath.Base(mark) + "\n", "in the run's own folder"},
		"video":   {ppo + "wrap: video=" + mark + ".gif\n", "in the run's own folder"},
	}
	configs := map[string]string{}
	for name, c := range all {
		configs[name] = c.config
	}
	text, err := json.Marshal(configs)
	if err != nil {
		t.Fatal(err)
	}
	out, err := newStranger(t).do("submit", w.at, w.certs["alice"], string(text))
	var ended map[string]core.Run
	if err == nil {
		err = json.Unmarshal([]byte(out), &ended)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, c := range all {
		if r := ended[name]; r.Phase != core.Failed || !strings.Contains(r.Why, c.want) {
			t.Errorf("%s is %s: %s, want %q", name, r.Phase, r.Why, c.want)
		}
	}
	if left, err := os.ReadDir(marks); err != nil || len(left) > 0 {
		t.Errorf("%v is written, %v", left, err)
	}
}
