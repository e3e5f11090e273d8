package kubernetes

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/weft-rl/weft/internal/launch"
)

// options reads options as they are written after the flag.
func options(t *testing.T, texts ...string) (out []launch.Option) {
	t.Helper()
	for _, text := range texts {
		o, err := launch.ParseOption("kubernetes", text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// sure returns an engine whose random texts are the same each time.
func sure() *Engine { return &Engine{text: func() string { return "ABCDEFGHIJKLMNOPQRSTUVWXYZ" }} }

// TestScript: the manifests have all that was asked for, and are YAML.
func TestScript(t *testing.T) {
	for name, j := range map[string]launch.Job{
		"nodes": {
			Name: "ppo-CartPole-v1-seed1", Args: []string{"train", "--on", "kubernetes", "--out", "/home/me/runs/ppo"}, Run: "/home/me/runs/ppo", Config: []byte("algorithm: ppo\nseed: 1\n"), Nodes: 3,
			Options: options(t, "image=registry/weft:1", "claim=runs"),
		},
		"workers": {
			Name: "7", Args: []string{"train"}, Run: "/runs/x", Nodes: 2, Workers: 6, Most: 8,
			Options: options(t, "image=weft", "claim=runs:me/runs", "pull=Never", "namespace=rl", "cpus=4", "memory=8", "gpus=1", "gpu-resource=amd.com/gpu", "node-selector=pool=gpu", "toleration=gpu=yes:NoSchedule", "toleration=spot",
				"user=1000:100", "service-account=weft", "priority=low", "pull-secret=key", "secret=s3", "grace=300", "restarts=2", "ttl=1h"),
		},
	} {
		got, err := sure().Script(j)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".yaml")
		if os.Getenv("WEFT_UPDATE") != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the manifests are\n%s", name, got)
		}
		kinds := map[string]int{}
		for d := yaml.NewDecoder(strings.NewReader(got)); ; {
			var x struct{ Kind string }
			if d.Decode(&x) != nil {
				break
			}
			kinds[x.Kind]++
		}
		if want := map[string]int{"Secret": 1, "ConfigMap": 1, "Service": 1, "PodDisruptionBudget": 1, "Job": 1}; !reflect.DeepEqual(kinds, want) {
			t.Errorf("%s: %v", name, kinds)
		}
	}
}

// TestOptions: a wrong option is refused in a sentence.
func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"queue=fast": "--kubernetes queue: there is no such option: it is one of image,", "cpus=x": `--kubernetes cpus: "x" is no number of CPUs`, "cpus=NaN": "no number of CPUs", "memory=0": "no number of GiB",
		"gpus=0": `"0" is no whole number from 1 on`, "image": "it has no value", "claim=runs:/x": "not of the form NAME or NAME:FOLDER", "claim=runs:../x": "not of the form", "node-selector=gpu": "not of the form LABEL=VALUE",
		"toleration=a=b:Never": "not of the form KEY[=VALUE][:EFFECT]", "user=0": "from 1 on", "user=1:x": "from 1 on", "pull=Sometimes": "none of Always", "ttl=soon": "no time, such as 24h", "grace=0": "from 1 on",
	} {
		if _, err := read(launch.Job{Options: options(t, text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := sure().Script(launch.Job{Name: "x", Nodes: 1}); err == nil || !strings.Contains(err.Error(), "image=NAME is needed") || !strings.Contains(err.Error(), "claim=NAME is needed") {
		t.Error(err)
	}
}

// TestNameOf: names of objects are names of hosts.
func TestNameOf(t *testing.T) {
	for job, want := range map[string]string{
		"ppo-CartPole-v1-seed1": "ppo-cartpole-v1-seed1-abcde", "7": "run-7-abcde", "___": "run-abcde", strings.Repeat("long.name-", 9): "long-name-long-name-long-name-long-name-abcde", "größe": "gr-e-abcde",
	} {
		if got := nameOf(job, "abcde"); strings.TrimPrefix(got, "run--") != strings.TrimPrefix(want, "run-") && got != want || len(got) > 50 {
			t.Errorf("%s: %s, want %s", job, got, want)
		}
	}
}

// TestPlace: a pod knows its place from its environment.
func TestPlace(t *testing.T) {
	env := map[string]string{
		jobName: "job", jobNamespace: "rl", jobContext: "home", jobSize: "3", jobLeast: "2", podIndex: "2", podIP: "10.0.0.7", nodeName: "n1", jobRun: "/runs/x", podCores: "4", podMemory: "8.5",
	}
	p, ok, err := here(func(key string) string { return env[key] })
	want := place{id{cluster{"home", "rl"}, "job"}, "job", "10.0.0.7", "n1", "/runs/x", 2, 3, 4, 2, 8.5}
	if !ok || err != nil || p != want || p.id.String() != "rl/job@home" {
		t.Errorf("%+v, %v, %v", p, ok, err)
	}
	for key, value := range map[string]string{podIndex: "", jobSize: "2", podIP: "here"} {
		before := env[key]
		env[key] = value
		if _, _, err := here(func(key string) string { return env[key] }); err == nil {
			t.Errorf("%s=%s was taken", key, value)
		}
		env[key] = before
	}
	if _, ok, err := here(func(string) string { return "" }); ok || err != nil {
		t.Errorf("outside of a job: %v, %v", ok, err)
	}
}

// TestBegin: starts of a job's leading command are counted, those of other jobs not.
func TestBegin(t *testing.T) {
	p := place{job: "a", run: t.TempDir()}
	for i, job := range []string{"a", "a", "b", "b", "a"} {
		p.job = job
		if got, err := p.begin(); err != nil || got != []int{0, 1, 0, 1, 0}[i] {
			t.Errorf("start %d, of job %s: %d, %v", i, job, got, err)
		}
	}
}

// TestQuantity reads amounts as Kubernetes writes them.
func TestQuantity(t *testing.T) {
	for text, want := range map[string]float64{`"1500m"`: 1.5, `"16Gi"`: 16 << 30, `"8"`: 8, `4`: 4, `"2M"`: 2e6, `""`: 0, `"x"`: 0} {
		if got := quantity([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// answer is the reply of a stand-in for kubectl to commands whose words have a text.
type answer struct{ words, out, problem string }

// kubectl puts a stand-in for kubectl into PATH, and returns what it was asked.
func kubectl(t *testing.T, answers ...answer) func() string {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	fmt.Fprintf(&b, "#!/bin/sh\necho \"$*\" >> %s/asked\ncase \"$*\" in\n", dir)
	for i, a := range answers {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(a.out), 0o644); err != nil {
			t.Fatal(err)
		}
		end := ""
		if a.problem != "" {
			end = fmt.Sprintf("echo %s >&2; exit 1", launch.Quote(a.problem))
		}
		fmt.Fprintf(&b, "*%s*) /bin/cat %s/%d; %s ;;\n", launch.Quote(a.words), dir, i, end)
	}
	b.WriteString("esac\n")
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	return func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "asked")) // nothing was asked
		return string(text)
	}
}

// A job to submit, and what a cluster answers.
const (
	madeJob  = `{"metadata": {"namespace": "rl", "uid": "u1"}}`
	liveJob  = `{"metadata": {"uid": "u1"}, "status": {}}`
	oneNode  = `{"items": [{"metadata": {"labels": {"pool": "gpu"}}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}}}]}`
	running  = `{"items": [{"metadata": {"name": "x-0", "uid": "p"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}]}`
	noImage  = `{"items": [{"status": {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull", "message": "weft: not found"}}}]}}]}`
	noRoom   = `{"items": [{"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]}}]}`
	overFull = `{"items": [{"reason": "FailedCreate", "message": "pods x is forbidden: exceeded quota: few"}]}`
	badJob   = `{"metadata": {"uid": "u1"}, "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "PodFailurePolicy"}]}}`
	badPod   = `{"items": [{"status": {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 2, "message": "epoch 1\nweft: --steps: -3\n{}\n"}}}]}}]}`
)

// TestSubmit: a job is made with all that it owns, and what keeps it from beginning is said in a
// sentence, with nothing left.
func TestSubmit(t *testing.T) {
	base := []answer{{"config current-context", "home\n", ""}, {"patch job", "", ""}, {"delete job", "", ""}}
	for name, c := range map[string]struct {
		answers []answer
		options []string
		want    string
		removed bool
	}{
		"good": {[]answer{{"create", madeJob, ""}, {"get job", liveJob, ""}, {"get pods", running, ""}, {"get nodes", oneNode, ""}}, nil, "", false},
		"may not look at nodes": {[]answer{{"create", madeJob, ""}, {"get job", liveJob, ""}, {"get pods", noRoom, ""},
			{"get nodes", "", "Error from server (Forbidden): nodes is forbidden"}}, []string{"gpus=8"}, "", false},
		"no rights":      {[]answer{{"create", "", `Error from server (Forbidden): error when creating "STDIN": jobs.batch is forbidden: User "me" cannot create resource`}, {"get nodes", oneNode, ""}}, nil, "ask for the right", false},
		"image":          {[]answer{{"create", madeJob, ""}, {"get job", liveJob, ""}, {"get pods", noImage, ""}, {"get nodes", oneNode, ""}}, nil, "the image cannot be pulled: weft: not found; push it to a registry", true},
		"quota":          {[]answer{{"create", madeJob, ""}, {"get job", liveJob, ""}, {"get pods", `{"items": []}`, ""}, {"get events", overFull, ""}, {"get nodes", oneNode, ""}}, nil, "exceeded quota: few; ask for less", true},
		"gpus":           {[]answer{{"get nodes", oneNode, ""}}, []string{"gpus=8"}, "a pod asks for 8 of nvidia.com/gpu, and no node of the cluster has more than 1", false},
		"cpus":           {[]answer{{"get nodes", oneNode, ""}}, []string{"cpus=8"}, "a pod asks for 8 CPUs and 0 GiB, and no node of the cluster has both", false},
		"selector":       {[]answer{{"get nodes", oneNode, ""}}, []string{"node-selector=pool=big"}, "no node with the labels", false},
		"away":           {[]answer{{"create", "", "The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port? connection refused"}}, nil, "kubectl cluster-info shows where it looks", false},
		"wrong settings": {[]answer{{"create", madeJob, ""}, {"get job", badJob, ""}, {"get pods", badPod, ""}, {"get nodes", oneNode, ""}}, nil, "FAILED (--steps: -3)", true},
	} {
		asked := kubectl(t, append(base, c.answers...)...)
		id, err := sure().Submit(t.Context(), launch.Job{Name: "x", Run: "/runs/x", Nodes: 1, Options: options(t, append([]string{"image=weft", "claim=runs"}, c.options...)...)})
		if c.want == "" && (err != nil || id != "rl/x-abcde@home") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %q, %v, want %q", name, id, err, c.want)
		}
		if got := strings.Contains(asked(), "delete job x-abcde"); got != c.removed {
			t.Errorf("%s: removed is %v\n%s", name, got, asked())
		}
	}
}

// TestLook: a job's state is told in a line.
func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		job, pods string
		want      launch.Standing
	}{
		"gone":    {"", "", launch.Standing{Phase: launch.Over, Text: "gone from the cluster"}},
		"runs":    {liveJob, running, launch.Standing{Phase: launch.Running, Text: "RUNNING on n1"}},
		"waits":   {liveJob, noRoom, launch.Standing{Phase: launch.Waiting, Text: "WAITING (0/3 nodes are available)"}},
		"failed":  {badJob, badPod, launch.Standing{Phase: launch.Over, Text: "FAILED (--steps: -3)"}},
		"failed!": {badJob, running, launch.Standing{Phase: launch.Over, Text: "FAILED (PodFailurePolicy)"}},
		"done":    {`{"metadata": {"uid": "u1"}, "status": {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}}`, running, launch.Standing{Phase: launch.Over, Text: "COMPLETE"}},
		"ends":    {`{"metadata": {"uid": "u1", "deletionTimestamp": "now"}}`, running, launch.Standing{Phase: launch.Running, Text: "ENDING"}},
	} {
		kubectl(t, answer{"get job", c.job, ""}, answer{"get pods", c.pods, ""})
		if got, err := sure().Look(t.Context(), "rl/x"); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := sure().Look(t.Context(), "4711"); err == nil || !strings.Contains(err.Error(), "NAMESPACE/NAME") {
		t.Error(err)
	}
}

// TestOutput: lines are those of the pod that leads.
func TestOutput(t *testing.T) {
	asked := kubectl(t, answer{"get job", `{"metadata": {"uid": "u1"}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}`, ""}, answer{"get pods", running, ""}, answer{"logs x-0", "one\ntwo\n", ""})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, follow := range []bool{false, true} {
		var got []string
		if err := sure().Output(ctx, "rl/x@home", follow, func(line string) { got = append(got, line) }); err != nil || strings.Join(got, ",") != "one,two" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if text := asked(); !strings.Contains(text, "job-completion-index=0") || !strings.Contains(text, "--context=home") || !strings.Contains(text, "--namespace=rl") {
		t.Error(text)
	}
}

// TestCheck: what is missing is said in a sentence.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		answer
		want string
	}{
		"good": {answer{"version", `{"serverVersion": {"major": "1", "minor": "36", "gitVersion": "v1.36.3"}}`, ""}, ""},
		"old":  {answer{"version", `{"serverVersion": {"major": "1", "minor": "27+", "gitVersion": "v1.27.3-gke"}}`, ""}, "the cluster has Kubernetes v1.27.3-gke: jobs of Weft need 1.31 or newer"},
		"away": {answer{"version", "", "E0101 00:00:00.000000 1 x.go:1] noise\nUnable to connect to the server: dial tcp: lookup nowhere: no such host"},
			"kubectl says: Unable to connect to the server: dial tcp: lookup nowhere: no such host; kubectl cluster-info shows where it looks; KUBECONFIG and --kubernetes context=NAME name another cluster"},
		"context": {answer{"version", "", `error: context "x" does not exist`}, `kubectl says: context "x" does not exist; kubectl config get-contexts lists those that there are`},
	} {
		kubectl(t, c.answer)
		got, err := sure().Check(t.Context())
		if c.want == "" && (err != nil || got != "Kubernetes 1.36.3") || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := sure().Check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "there is no kubectl here: install it") {
		t.Error(err)
	}
}
