package cli

import (
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
	run, node, err := dataPlane(&set, "127.0.0.1:0", mesh.Options{}, t.TempDir())
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
