package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/cli/testdata/src/faulty"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/rl"
)

// withFault returns a set with the loop whose programs have a fault.
func withFault(t *testing.T, fault string) app.Set {
	faulty.Fault = fault
	t.Cleanup(func() { faulty.Fault = "" })
	set := weft.Builtin()
	set.Algorithms = append([]algo.Algorithm{faulty.Algorithm}, set.Algorithms...)
	return set
}

// small returns settings of the faulty loop that make a run short, with unequal shards.
func small(args ...string) []string {
	return append(args, "--env", "CartPole-v1", "--set", "envs=5", "--set", "horizon=8", "--set", "hidden=8")
}

// line returns the line of the faulty loop's source with a text.
func line(t *testing.T, text string) string {
	t.Helper()
	source, err := os.ReadFile("testdata/src/faulty/loop.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(source), text)
	if !ok {
		t.Fatalf("loop.go has no %q", text)
	}
	return fmt.Sprintf("loop.go:%d", strings.Count(before, "\n")+1)
}

// TestVerifyFaults: a fault in a generated program is found, and the first operation
// that it shows in is named with its place in the author's source.
func TestVerifyFaults(t *testing.T) {
	for _, c := range []struct {
		fault, policy string
		operation, at string // text of the line
		more          []string
	}{
		{faulty.NoCopy, "single-learner-coarse", `rl.Func.Call of "act"`, "t.Actor.Call(", []string{"iteration 2, 1st time, in collector", "differs from that of the plain loop", "in the end net/"}},
		{faulty.Reversed, "single-learner-coarse", `rl.Loss.Grad of "loss"`, "t.Loss.Grad(", []string{"iteration 1, 1st time, in learner: it is given another"}},
		{faulty.LocalDraw, "single-learner-coarse", `rl.Func.Call of "act"`, "t.Actor.Call(", []string{"iteration 1, 1st time, in collector: Action"}},
		{faulty.NoLog, "single-learner-coarse", `rl.Run.Log of "loss/baseline"`, `run.Log("loss/baseline"`, []string{"iteration 1", "is not logged"}},
		{faulty.GraphDraw, "single-learner-coarse", `rl.Run.Log of "loss/policy"`, `run.Log("loss/policy"`, []string{"iteration 2", "statement by statement", "the programs are right", "coarse/collector 1 (" + line(t, "obs := t.Env.Obs()")}},
		{faulty.NoSum, "multi-learner", `rl.Opt.Apply of "adam"`, "t.Opt.Apply(", []string{"iteration 1, 1st time, in learner: it is given another weight than in 2 plain loops that sum their gradients"}},
		{faulty.SplitDraw, "multi-learner", `rl.Func.Call of "act"`, "t.Actor.Call(", []string{"iteration 1, 1st time, in learner: Action differs from that of the plain loop"}},
		{faulty.LoweredDraw, "gpu-only", "", "t.Opt.Apply(", []string{"net/", "differs from that of the plain loop", "; rl.Opt.Apply at "}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			o := run(t.Context(), withFault(t, c.fault), small("verify", "faulty", "--policy", c.policy, "--workers", "2")...)
			if o.code != 1 {
				t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.errors)
			}
			contains(t, o.out, append(c.more, "DIFFERENT: "+c.operation, " at "+line(t, c.at), "1 of 1 runs are not")...)
		})
	}
}

// TestVerifyJSON: the same for programs, one object a line.
func TestVerifyJSON(t *testing.T) {
	o := run(t.Context(), withFault(t, faulty.NoCopy), small("verify", "faulty", "--workers", "1,2", "--json")...)
	if o.code != 1 {
		t.Fatalf("exit code %d\n%s", o.code, o.errors)
	}
	results := map[string]any{}
	for _, e := range events(t, o.out) {
		if e["event"] == "verified" {
			results[fmt.Sprint(e["policy"], " ", e["workers"])] = e["result"]
		}
		if e["policy"] == "single-learner-coarse" && e["workers"] == 2. {
			at := e["difference"].(map[string]any)["place"].(map[string]any)
			if at["operation"] != "rl.Func.Call" || at["pos"] != line(t, "t.Actor.Call(") || at["iteration"] != 2. {
				t.Errorf("%v", at)
			}
		}
	}
	for name, want := range map[string]string{
		"single-learner-coarse 2": "different", "multi-learner 2": "equal", "multi-learner 1": "equal", "gpu-only 1": "equal",
		"environments 1": "unfit", "single-learner-fine 1": "equal", "single-learner-fine 2": "unfit",
	} {
		if results[name] != want {
			t.Errorf("%s: %v, want %s", name, results[name], want)
		}
	}
}

// TestVerify: the built-in algorithms are equal under every policy.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		args  string
		equal int // runs
	}{
		{"ppo --set envs=5 --set horizon=8 --set hidden=8 --set epochs=2 --set minibatches=3", 9},
		{"ppo --env Memory-v0 --set envs=4 --set horizon=8 --set hidden=8 --set minibatches=2 --set memory=4 --workers 2", 5},
		{"a2c --set envs=5 --set hidden=8", 9},
		{"impala --set envs=5 --set horizon=5 --set hidden=8", 9},
		{"mappo --set envs=5 --set horizon=8 --set hidden=8", 9},
		{"dqn --set envs=5 --set learning_starts=100 --set batch=16 --set buffer=500 --set hidden=8 --set prioritised=true --set n_step=2", 9},
		{"c51 --set envs=5 --set learning_starts=100 --set batch=16 --set buffer=500 --set hidden=8 --set atoms=11", 9},
		{"qrdqn --set envs=5 --set train_every=2 --set updates=2 --set learning_starts=100 --set batch=16 --set buffer=500 --set hidden=8", 9},
		{"bc --data debug:continuous --set batch=11 --set hidden=8", 5},
		{"gail --env IdentityContinuous-v0 --data debug:continuous --set envs=5 --set horizon=8 --set hidden=8 --set batch=11 --set recent=50", 9},
		{"rainbow --set envs=5 --set train_every=2 --set updates=2 --set learning_starts=100 --set batch=16 --set buffer=500 --set hidden=8 --set atoms=11", 9},
	} {
		o := run(t.Context(), weft.Builtin(), append([]string{"verify"}, strings.Fields(c.args)...)...)
		if want := fmt.Sprintf("all %d runs are equal\n", c.equal); o.code != 0 || !strings.HasSuffix(o.out, want) {
			t.Errorf("weft verify %s: code %d, want %s\n%s%s", c.args, o.code, want, o.out, o.errors)
		}
	}
}

// TestVerifyUsage: wrong usage has the exit code 2, and nothing runs.
func TestVerifyUsage(t *testing.T) {
	for args, want := range map[string]string{
		"ppoo":                      `did you mean "ppo"?`,
		"ppo --policy plain":        "plain is the reference for all others",
		"ppo --policy fin":          "unknown policy",
		"ppo --workers 2,x":         `--workers: "x" is not a number of workers`,
		"ppo --iterations -1":       "--iterations: -1",
		"ppo --set nonsense=1":      "nonsense",
		"":                          "no algorithm named",
		"ppo --stepz 3":             "did you mean --steps?",
		"ppo --config absent.yaml":  "absent.yaml",
		"ppo --env Nowhere-v0":      "unknown environment",
		"ppo dqn":                   "accepts at most 1 arg",
		"ppo --no-fuse everything ": "there is no fusion",
	} {
		contains(t, do(t, 2, append([]string{"verify"}, strings.Fields(args)...)...).errors, want)
	}
	// No run was compared.
	contains(t, do(t, 1, "verify", "ppo", "--policy", "environments").errors, "no policy fits the loop")
}

// trained trains the faulty loop under a policy, and keeps what was verified in a folder.
func trained(t *testing.T, cache, fault string, args ...string) outcome {
	t.Helper()
	t.Setenv("WEFT_CACHE", cache)
	all := small("train", "faulty", "--steps", "80", "--eval-episodes", "0", "--policy", "single-learner-coarse", "--workers", "2", "--out", filepath.Join(t.TempDir(), "run"))
	return run(t.Context(), withFault(t, fault), append(all, args...)...)
}

const verifiedLine = "verified faulty under single-learner-coarse: equal to the plain loop over 2 iterations\n"

// TestTrainVerifies: a policy of an author's loop is verified once, before its first
// run; other policies and other forms are verified for themselves.
func TestTrainVerifies(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	first := trained(t, cache, "")
	if first.code != 0 || !strings.HasPrefix(first.out, verifiedLine) {
		t.Fatalf("code %d\n%s%s", first.code, first.out, first.errors)
	}
	if again := trained(t, cache, ""); again.code != 0 || strings.Contains(again.out, "verified") {
		t.Errorf("verified again: %s%s", again.out, again.errors)
	}
	if other := trained(t, cache, "", "--policy", "multi-learner"); !strings.HasPrefix(other.out, "verified faulty under multi-learner: equal to 2 plain loops") {
		t.Errorf("another policy: %s%s", other.out, other.errors)
	}
	if plain := trained(t, cache, "", "--policy", "plain", "--workers", "1"); plain.code != 0 || strings.Contains(plain.out, "verified") {
		t.Errorf("plain: %s%s", plain.out, plain.errors)
	}
	files, err := os.ReadDir(filepath.Join(cache, "verified"))
	if err != nil || len(files) != 2 {
		t.Errorf("kept: %v, %v", files, err)
	}
	all := events(t, trained(t, t.TempDir(), "", "--json").out)
	if all[0]["event"] != "verified" || all[0]["policy"] != "single-learner-coarse" || all[1]["event"] != "begin" {
		t.Errorf("%v", all[:2])
	}
}

// TestTrainVerifiesAsync: an asynchronous run is verified by its programs in step.
func TestTrainVerifiesAsync(t *testing.T) {
	o := trained(t, t.TempDir(), "", "--async")
	if o.code != 0 || !strings.HasPrefix(o.out, verifiedLine) {
		t.Errorf("code %d\n%s%s", o.code, o.out, o.errors)
	}
}

// TestTrainRefuses: a run whose programs differ does not start, unless it is told to.
func TestTrainRefuses(t *testing.T) {
	cache := t.TempDir()
	out := filepath.Join(t.TempDir(), "refused")
	o := trained(t, cache, faulty.NoCopy, "--out", out)
	if o.code != 1 {
		t.Fatalf("code %d\n%s", o.code, o.out)
	}
	contains(t, o.errors, "policy single-learner-coarse does not compute what the loop of faulty computes", line(t, "t.Actor.Call("),
		"--policy plain", "--no-verify", "weft verify faulty")
	absent(t, out)
	if files, err := filepath.Glob(filepath.Join(cache, "*", "*")); err != nil || len(files) > 0 {
		t.Errorf("a difference was kept: %v %v", files, err)
	}
	if e := last(t, trained(t, cache, faulty.NoCopy, "--json")); e["event"] != "error" || !strings.Contains(e["error"].(string), line(t, "t.Actor.Call(")) {
		t.Errorf("%v", e)
	}
	if o := trained(t, cache, faulty.NoCopy, "--no-verify"); o.code != 0 || strings.Contains(o.out, "verified") {
		t.Errorf("--no-verify: code %d\n%s%s", o.code, o.out, o.errors)
	}
}

// TestTrainVerifiesOwn: Weft's own algorithms are verified by its tests, not by runs.
func TestTrainVerifiesOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("WEFT_CACHE", "cache")
	if o := do(t, 0, tiny("--policy", "single-learner-coarse", "--workers", "2")...); strings.Contains(o.out, "verified") {
		t.Errorf("%s", o.out)
	}
	absent(t, "cache")
}

// TestTrainForgets: where nothing can be kept, a run is verified every time and says so.
func TestTrainForgets(t *testing.T) {
	file := write(t, "file", "")
	for range 2 {
		o := trained(t, file, "")
		if o.code != 0 || !strings.HasPrefix(o.out, verifiedLine+"the next run verifies it again") {
			t.Errorf("code %d\n%s%s", o.code, o.out, o.errors)
		}
	}
}

// TestVerifyStill: programs that wait for each other are ended, and the first operation
// that was not done is named.
func TestVerifyStill(t *testing.T) {
	t.Cleanup(cli.SetPatience(5 * time.Second))
	o := run(t.Context(), withFault(t, faulty.NoFetch), small("verify", "faulty", "--policy", "single-learner-coarse", "--workers", "2", "--iterations", "4")...)
	if o.code != 1 {
		t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
	contains(t, o.out, "DIFFERENT: ", "iteration 2", "all replicas wait for each other")
}

// moody returns an environment that is never the same again: every one that is made has
// another seed.
func moody() env.Entry {
	made := uint64(0)
	e := classic.CartPole
	e.ID = "Moody-v0"
	e.New = func(s *rl.Scope, n int, options any) (env.Batch, error) {
		made++
		return classic.CartPole.New(rl.NewScope(s.Device(), made), n, options)
	}
	return e
}

// TestVerifyMoody: a loop that does not repeat itself is not said to be wrong.
func TestVerifyMoody(t *testing.T) {
	set := withFault(t, "")
	set.Environments = append(set.Environments, moody())
	args := []string{"--env", "Moody-v0", "--policy", "single-learner-coarse", "--set", "envs=4", "--set", "horizon=8", "--set", "hidden=8"}
	o := run(t.Context(), set, append([]string{"verify", "faulty", "--workers", "2"}, args...)...)
	if o.code != 1 {
		t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
	contains(t, o.errors, "the plain loop does not repeat itself", `rl.Func.Call of "act" at `+line(t, "t.Actor.Call("))
	t.Chdir(t.TempDir())
	t.Setenv("WEFT_CACHE", t.TempDir())
	o = run(t.Context(), set, append([]string{"train", "faulty", "--workers", "2", "--steps", "64", "--eval-episodes", "0"}, args...)...)
	if o.code != 0 || !strings.HasPrefix(o.out, "faulty is not verified under single-learner-coarse: the plain loop does not repeat itself") {
		t.Errorf("code %d\n%s%s", o.code, o.out, o.errors)
	}
}

// TestRemember: several runs may keep the same at once.
func TestRemember(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("WEFT_CACHE", dir)
	if cli.VerifiedBefore("key") {
		t.Error("known before it was kept")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := cli.Remember("key", "mine", "central"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	files, err := os.ReadDir(filepath.Join(dir, "verified"))
	if err != nil || len(files) != 1 || !cli.VerifiedBefore("key") {
		t.Errorf("kept: %v, %v", files, err)
	}
}
