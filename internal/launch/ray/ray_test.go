package ray

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/launch"
)

// TestScript: the script is one that ray job submit takes, with all that the command has to ask
// for.
func TestScript(t *testing.T) {
	got, err := (&Engine{}).Script(launch.Job{
		Name: "ppo-seed1", Program: "/opt/weft", Args: []string{"train", "ppo", "--set", "note=it's one", "--on", "ray"}, Dir: "/home/me", Nodes: 3,
		Options: []launch.Option{{Key: "cpus", Value: "4"}, {Key: "gpus", Value: "1"}, {Key: "address", Value: "10.0.0.1:6379"}},
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

// TestRead: numbers of nodes and workers, and options, say what Ray is asked for.
func TestRead(t *testing.T) {
	t.Setenv("RAY_ADDRESS", "")
	for _, c := range []struct {
		job  launch.Job
		want wish
	}{
		{launch.Job{Nodes: 3, Most: 5}, wish{ask{3, 2, map[string]float64{"CPU": 1}, apart, 0}, "auto", ""}},
		{launch.Job{Workers: 6}, wish{ask{6, 0, map[string]float64{"CPU": 1}, spread, 0}, "auto", ""}},
		{launch.Job{Nodes: 2, Workers: 6}, wish{ask{6, 0, map[string]float64{"CPU": 1}, spread, 0}, "auto", ""}},
		{launch.Job{Nodes: 2, Options: []launch.Option{
			{Key: "cpus", Value: "0.5"}, {Key: "gpus", Value: "1"}, {Key: "memory", Value: "2"}, {Key: "resource", Value: "fast:3"}, {Key: "wait", Value: "2m"},
			{Key: "strategy", Value: "pack"}, {Key: "address", Value: "10.0.0.1:6379"}, {Key: "python", Value: "/opt/python"},
		}}, wish{ask{2, 0, map[string]float64{"CPU": 0.5, "GPU": 1, "memory": 2 << 30, "fast": 3}, "PACK", 120}, "10.0.0.1:6379", "/opt/python"}},
	} {
		if got, err := read(c.job); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v, %v, want %+v", got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"cpus=x": `--ray cpus: "x" is no amount above 0`, "gpus=-1": "no amount above 0", "memory=0": "no amount above 0", "resource=": "no amount above 0",
		"strategy=NEAR": "none of PACK, SPREAD, STRICT_SPREAD", "wait=soon": "--ray wait: ", "wait=-1s": "no time to wait", "queue=fast": "there is no such option",
	} {
		o, err := launch.ParseOption("ray", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(launch.Job{Options: []launch.Option{o}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestInherited: a job has this program's variables and those of stores, and no other.
func TestInherited(t *testing.T) {
	for key, value := range map[string]string{"WEFT_PYTHON": "/py", "AWS_REGION": "north", "SECRET": "x", "WEFT_RAY_JOB": "outer"} {
		t.Setenv(key, value)
	}
	got := inherited()
	if got["WEFT_PYTHON"] != "/py" || got["AWS_REGION"] != "north" || got["SECRET"] != "" || got["WEFT_RAY_JOB"] != "" {
		t.Errorf("%v", got)
	}
}

// TestAbsent: where Ray or Python are not, that is said in a sentence.
func TestAbsent(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"broken": "#!/bin/sh\necho 'Traceback' >&2\necho 'SyntaxError: it is old' >&2\nexit 1\n",
		"no-ray": "#!/bin/sh\necho '{\"error\": \"this one has no Ray\"}'\nexit 1\n",
		"silent": "#!/bin/sh\nexit 0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for python, want := range map[string]string{
		"broken": "cannot run the driver of Ray: SyntaxError: it is old", "no-ray": "this one has no Ray", "silent": "cannot run the driver of Ray", "none": "there is no Python here to reach Ray with",
	} {
		_, err := (&Engine{}).Check(t.Context(), launch.Option{Key: "python", Value: filepath.Join(dir, python)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", python, err, want)
		}
	}
}

// TestJob: a process knows the job that it is in.
func TestJob(t *testing.T) {
	t.Setenv("WEFT_RAY_JOB", "")
	t.Setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "")
	if name, ok := job(); ok {
		t.Errorf("in job %s", name)
	}
	if a, err := (&Engine{}).Allocation(t.Context(), launch.Job{}); a != nil || err != nil {
		t.Errorf("%v, %v", a, err)
	}
	t.Setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", `{"runtime_env": {}, "metadata": {"job_submission_id": "raysubmit_x"}}`)
	if name, _ := job(); name != "raysubmit_x" {
		t.Errorf("in job %q", name)
	}
	t.Setenv("WEFT_RAY_JOB", "ppo-123456")
	if name, _ := job(); name != "ppo-123456" {
		t.Errorf("in job %q", name)
	}
	if _, _, err := (&Engine{}).of(t.Context(), "4711"); err == nil || !strings.Contains(err.Error(), "NAME@ADDRESS") {
		t.Errorf("%v", err)
	}
}

// TestArguments: the leading command asks for what the submitting one did, at its own address.
func TestArguments(t *testing.T) {
	got := arguments(launch.Job{Args: []string{"train", "ppo"}, Nodes: 2, Options: []launch.Option{{Key: "python", Value: "/py"}, {Key: "cpus", Value: "2"}}})
	if want := []string{"train", "ppo", "--nodes", "2", "--ray", "cpus=2"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
