package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
)

// A run folder's configuration is all that a worker needs to do the same again.
func TestPart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	want, err := app.Train(t.Context(), app.Job{
		Algorithm: ppo.Algorithm, Env: debug.Identity, Seed: 5, Steps: 256, Out: dir,
		Set: []string{"envs=4", "horizon=16", "hidden=8", "epochs=1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, request.ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	set := request.Set{Algorithms: []algo.Algorithm{ppo.Algorithm}, Environments: []env.Entry{debug.Identity}}
	run, node, err := dataPlane(machineOptions{Set: &set, Listen: "127.0.0.1:0", Store: t.TempDir()}, mesh.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	d := parttest.NewDesk(1)
	a := part.Assignment{Run: "r", Epoch: 1, Config: string(config), Workers: []part.Worker{{Name: "w", Data: node.Address()}}}
	if err := run.Run(t.Context(), a, d); err != nil {
		t.Fatal(err)
	}
	if got := d.Last().Result; got == nil || got.WeightsSHA256 != want.WeightsSHA256 || got.StateSHA256 != want.StateSHA256 {
		t.Errorf("%+v, want %+v", got, want)
	}
	a.Config = strings.Replace(a.Config, "algorithm: ppo", "algorithm: ppi", 1)
	if err := run.Run(t.Context(), a, d); err == nil || !strings.Contains(err.Error(), "ppi") {
		t.Errorf("an unknown algorithm: %v", err)
	}
}

// TestPartConfined: what a submitted run records is in its folder of the store, and a worker
// refuses one that names other places, whatever its coordinator thought of it.
func TestPartConfined(t *testing.T) {
	store, elsewhere := t.TempDir(), t.TempDir()
	t.Chdir(t.TempDir())
	set := request.Set{Algorithms: []algo.Algorithm{ppo.Algorithm}, Environments: []env.Entry{debug.Identity}}
	run, node, err := dataPlane(machineOptions{Set: &set, Listen: "127.0.0.1:0", Store: store}, mesh.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	const config = "algorithm: ppo\nenv: Identity-v0\nsteps: 256\nset:\n  envs: 4\n  horizon: 16\n  hidden: 8\n  epochs: 1\n"
	assignment := func(more string) part.Assignment {
		return part.Assignment{Run: "r", Epoch: 1, Config: more + config, Workers: []part.Worker{{Name: "w", Data: node.Address()}}}
	}
	if err := run.Run(t.Context(), assignment("wrap: record=e.jsonl\n"), parttest.NewDesk(1)); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(store, "r", "e.jsonl")); err != nil || info.Size() == 0 {
		t.Errorf("what was recorded: %v", err)
	}
	for more, want := range map[string]string{
		"wrap: record=" + filepath.Join(elsewhere, "e.jsonl") + "\n": "in the run's own folder",
		"wrap: record=../e.jsonl\n":                                  "in the run's own folder",
		"from: " + elsewhere + "\n":                                  "from: a submitted run may not name the folder " + elsewhere,
		"python: /bin/sh\n":                                          "python: a submitted run may not name the program /bin/sh",
	} {
		err := run.Run(t.Context(), assignment(more), parttest.NewDesk(1))
		var last request.Forbidden
		if !errors.As(err, &last) || !last.Permanent() || !strings.Contains(err.Error(), want) {
			t.Errorf("%s%v, want %q", more, err, want)
		}
	}
	for _, dir := range []string{".", elsewhere} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v is left in %s, %v", left, dir, err)
		}
	}
}
