package slurm

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// TestScript: the script is one that sbatch takes, with the user's options in the place of those
// that it would have.
func TestScript(t *testing.T) {
	got, err := Engine{}.Script(launch.Job{
		Name: "ppo-seed1", Program: "/opt/weft", Args: []string{"train", "ppo", "--set", "note=it's one", "--on", "slurm"}, Dir: "/home/me", Nodes: 3,
		Options: []launch.Option{{Key: "time", Value: "2:00:00"}, {Key: "gres", Value: "gpu:1"}, {Key: "exclusive"}, {Key: "signal", Value: "B:USR1@300"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/script.sh")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the script is\n%s\nwant\n%s", got, want)
	}
}

// TestWorkers: a number of workers is a number of tasks.
func TestWorkers(t *testing.T) {
	got, err := Engine{}.Script(launch.Job{Name: "x", Program: "weft", Dir: "/", Workers: 6})
	if err != nil || !strings.Contains(got, "--ntasks=6\n") || strings.Contains(got, "--nodes") || strings.Contains(got, "per-node") {
		t.Errorf("%v\n%s", err, got)
	}
}

// TestArray: the script of several seeds is one of an array, whose elements differ by their seed
// alone.
func TestArray(t *testing.T) {
	j := launch.Job{
		Name: "x", Program: "/opt/weft", Args: []string{"train", "--seed", launch.Seed, "--out", "/my runs/seed" + launch.Seed}, Dir: "/", Nodes: 2, Seeds: []uint64{3, 4, 9},
		Options: []launch.Option{{Key: "array", Value: "%2"}},
	}
	got, err := Engine{}.Script(j)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#SBATCH --array=0-2%2\n", "\nseeds=(3 4 9)\nseed=${seeds[$SLURM_ARRAY_TASK_ID]}\n", "\nexec /opt/weft train --seed \"$seed\" --out '/my runs/seed'\"$seed\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the script has no %q:\n%s", want, got)
		}
	}
	if id := (Engine{}).Element("4711", 2); id != "4711_2" {
		t.Errorf("the last one is %s", id)
	}
}

// TestComponents: options after hetjob are those of another component, and a limit of any of them
// counts.
func TestComponents(t *testing.T) {
	j := launch.Job{Name: "x", Program: "weft", Dir: "/", Nodes: 1, Options: []launch.Option{
		{Key: "gres", Value: "gpu:1"}, {Key: "hetjob"}, {Key: "nodes", Value: "4"}, {Key: "partition", Value: "cpu"},
	}}
	got, err := Engine{}.Script(j)
	want := "#SBATCH --gres=gpu:1\n#SBATCH hetjob\n#SBATCH --ntasks-per-node=1\n#SBATCH --nodes=4\n#SBATCH --partition=cpu\n\n"
	if err != nil || !strings.Contains(got, want) || strings.Count(got, "--requeue") != 1 {
		t.Errorf("%v\n%s", err, got)
	}
	j.Options = append(j.Options, launch.Option{Key: "time", Value: "1"})
	if _, err := (Engine{}).Script(j); err == nil || !strings.Contains(err.Error(), "--slurm time=1 is too short") {
		t.Error(err)
	}
	env := map[string]string{"SLURM_HET_SIZE": "2"}
	if got := components(func(key string) string { return env[key] }); !slices.Equal(got, []string{"_HET_GROUP_0", "_HET_GROUP_1"}) {
		t.Errorf("%q", got)
	}
	if got := strings.Join(component{option: "--het-group=1"}.step("w1", launch.Slot{Node: "n2"}), " "); !strings.HasSuffix(got, " --het-group=1") {
		t.Errorf("%s", got)
	}
}

// TestGrowing: a job that may grow is given from some to many nodes, with a worker on each.
func TestGrowing(t *testing.T) {
	j := launch.Job{Name: "x", Program: "weft", Dir: "/", Nodes: 2, Most: 4}
	if got, err := (Engine{}).Script(j); err != nil || !strings.Contains(got, "--nodes=2-4\n") || strings.Contains(got, "ntasks") {
		t.Errorf("%v\n%s", err, got)
	}
	j.Workers = 2
	if _, err := (Engine{}).Script(j); err == nil || !strings.Contains(err.Error(), "--max-workers on slurm needs --nodes N") {
		t.Error(err)
	}
}

// TestTimely: a limit that leaves no time to save the run is refused, with what to do.
func TestTimely(t *testing.T) {
	for _, c := range []struct {
		limit, signal, want string
	}{
		{"1", "", "--slurm time=1 is too short"},
		{"2:00", "", "too short"},
		{"2:01", "", ""},
		{"1", "B:USR1@30", ""},
		{"1-0", "", ""},
		{"UNLIMITED", "", ""},
		{"soon", "", `"soon" is no time limit`},
		{"1:2:3:4", "", "is no time limit"},
		{"60", "USR1@30", "saves its run on USR1, as in B:USR1@120"},
		{"60", "B:USR1@x", "no number of seconds"},
	} {
		o := []launch.Option{{Key: "time", Value: c.limit}}
		if c.signal != "" {
			o = append(o, launch.Option{Key: "signal", Value: c.signal})
		}
		_, err := Engine{}.Script(launch.Job{Name: "x", Program: "weft", Dir: "/", Nodes: 1, Options: o})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("time %s, signal %q: %v, want %q", c.limit, c.signal, err, c.want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Minute, "1:30": 90 * time.Second, "2:00:01": 2*time.Hour + time.Second, "1-2": 26 * time.Hour,
		"1-2:03": 26*time.Hour + 3*time.Minute, "1-2:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "infinite": 0,
	} {
		if got, err := parseTime(text); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
}

// TestSlots: workers are where Slurm counts tasks, with their share of a node.
func TestSlots(t *testing.T) {
	addresses := map[string]string{"n1": "10.0.0.1", "n2": "10.0.0.2", "n3": "10.0.0.3"}
	for _, c := range []struct {
		name string
		env  map[string]string
		want []launch.Slot
	}{
		{"one each", map[string]string{"SLURM_TASKS_PER_NODE": "1(x3)", "SLURM_JOB_CPUS_PER_NODE": "8(x2),4"},
			[]launch.Slot{{Node: "n1", Address: "10.0.0.1", Cores: 8}, {Node: "n2", Address: "10.0.0.2", Cores: 8}, {Node: "n3", Address: "10.0.0.3", Cores: 4}}},
		{"uneven", map[string]string{"SLURM_TASKS_PER_NODE": "2,1(x2)", "SLURM_CPUS_PER_TASK": "3", "SLURM_MEM_PER_NODE": "4096"},
			[]launch.Slot{{Node: "n1", Address: "10.0.0.1", Cores: 3, Memory: 2}, {Node: "n1", Address: "10.0.0.1", Cores: 3, Memory: 2},
				{Node: "n2", Address: "10.0.0.2", Cores: 3, Memory: 4}, {Node: "n3", Address: "10.0.0.3", Cores: 3, Memory: 4}}},
	} {
		got, err := slots([]string{"n1", "n2", "n3"}, addresses, func(key string) string { return c.env[key] })
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	for _, text := range []string{"1(x2)", "x", "1(x4)x"} {
		if _, err := slots([]string{"n1", "n2", "n3"}, addresses, func(key string) string { return text }); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// TestStep: workers that share a node have cores of their own.
func TestStep(t *testing.T) {
	at := launch.Slot{Node: "n2", Cores: 2}
	for exact, want := range map[bool]string{
		false: "srun --nodes=1 --ntasks=1 --nodelist=n2 --job-name=w1 --unbuffered --kill-on-bad-exit=0 --cpus-per-task=2",
		true:  "srun --nodes=1 --ntasks=1 --nodelist=n2 --job-name=w1 --unbuffered --kill-on-bad-exit=0 --cpus-per-task=2 --exact",
	} {
		if got := strings.Join(component{exact: exact}.step("w1", at), " "); got != want {
			t.Errorf("%s", got)
		}
	}
}

// TestAbsent: where Slurm's commands are not, that is said in a sentence.
func TestAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Engine{}.Submit(t.Context(), launch.Job{Name: "x", Program: "weft", Dir: "/", Nodes: 1})
	if err == nil || err.Error() != "there is no Slurm here: sbatch is not in PATH; run this on a login node of the cluster" {
		t.Error(err)
	}
}

// TestNotConfigured: where Slurm has no configuration, one sentence says so, and not its own words.
func TestNotConfigured(t *testing.T) {
	dir := t.TempDir()
	text := "#!/bin/sh\necho 'scontrol: error: Could not establish a configuration source' >&2\nexit 1\n"
	for _, name := range []string{"scontrol", "sbatch", "srun", "squeue", "scancel"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	if _, err := (Engine{}).Check(t.Context()); err == nil || !strings.Contains(err.Error(), "name its slurm.conf with SLURM_CONF") {
		t.Errorf("%v", err)
	}
}
