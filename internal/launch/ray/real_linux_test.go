package ray

import (
	"os"
	"testing"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/launchtest"
	"github.com/weft-rl/weft/internal/launch/ray/raytest"
)

func TestMain(m *testing.M) {
	launchtest.Main()
	os.Exit(m.Run())
}

// TestRayLauncher: clusters within a job do what clusters of a launcher do.
func TestRayLauncher(t *testing.T) {
	c := raytest.Start(t)
	t.Setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", `{"metadata": {"job_submission_id": "raysubmit_1"}}`)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&Engine{}).Allocation(t.Context(), launch.Job{Program: program, Nodes: 3})
	if err != nil {
		t.Fatal(err)
	}
	if a.Job != "raysubmit_1@"+c.Address || len(a.Slots) != 3 || a.Slots[0].Node == a.Slots[1].Node {
		t.Errorf("%+v", a)
	}
	launchtest.Test(t, a.Launcher)
}
