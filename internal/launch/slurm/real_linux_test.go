package slurm

import (
	"os"
	"regexp"
	"testing"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/launchtest"
	"github.com/weft-rl/weft/internal/launch/slurm/slurmtest"
)

func TestMain(m *testing.M) {
	launchtest.Main()
	os.Exit(m.Run())
}

// TestSlurmLauncher: clusters within a job do what clusters of a launcher do.
func TestSlurmLauncher(t *testing.T) {
	c := slurmtest.Start(t)
	said := c.Ask("salloc", "--no-shell", "--nodes=3", "--ntasks-per-node=1")
	id := regexp.MustCompile(`job allocation (\d+)`).FindStringSubmatch(said)
	if id == nil {
		t.Fatal(said)
	}
	for key, value := range map[string]string{"SLURM_JOB_ID": id[1], "SLURM_JOB_NODELIST": "n[1-3]", "SLURM_TASKS_PER_NODE": "1(x3)", "SLURM_JOB_CPUS_PER_NODE": "1(x3)"} {
		t.Setenv(key, value)
	}
	a, err := Engine{}.Allocation(t.Context(), launch.Job{})
	if err != nil {
		t.Fatal(err)
	}
	if a.Job != id[1] || a.Host != "127.0.0.1" || len(a.Slots) != 3 || a.Slots[2].Node != "n3" {
		t.Errorf("%+v", a)
	}
	launchtest.Test(t, a.Launcher)
}
