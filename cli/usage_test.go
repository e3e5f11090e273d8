package cli_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
)

func runInto(t *testing.T, out io.Writer, args ...string) int {
	return cli.Run(t.Context(), weft.Builtin(), args, out, io.Discard)
}

// Everything that is wrong is reported at once, with the name that was probably
// meant; nothing has started by then.
func TestAllMistakesAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	file := write(t, "run.yaml", "stesp: 100\nset:\n  gama: 0.9\n  epochs: many\n")
	o := do(t, 2, "train", "ppo", "--config", file, "--env", "Memory-v0?dleay=3", "--policy", "plian", "--device", "cpuu",
		"--workers", "two", "--set", "learnin_rate=1", "--set", "clip=-1", "--set", "nonsense", "--seeds", "none", "--json")
	if o.out != "" {
		t.Errorf("standard output: %q", o.out)
	}
	for _, want := range []string{
		`run.yaml:1: unknown setting "stesp", did you mean "steps"?`,
		`run.yaml:3: unknown setting "gama", did you mean "gamma"?`,
		`run.yaml:4: epochs: `,
		`--env: unknown setting "dleay", did you mean "delay"?`,
		`did you mean "plain"?`,
		`--device: unknown device "cpuu", there is cpu`,
		`--workers: workers: `,
		`--set: unknown setting "learnin_rate", did you mean "learning_rate"?`,
		`--set: clip: -1 is outside (0,)`,
		`--set: "nonsense" is not of the form key=value`,
		`--seeds: "none" is not a number of seeds`,
	} {
		contains(t, o.errors, want)
	}
	if n := strings.Count(o.errors, "\n"); n != 12 {
		t.Errorf("%d lines, want a heading and 11 problems:\n%s", n, o.errors)
	}
	absent(t, "runs")
}

// Every wrong name has a suggestion, and every wrong use the exit code 2.
func TestMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args string
		want []string
	}{
		{"trian ppo", []string{`unknown command "trian", did you mean "train"?`}},
		{"train ppo --stesp 3", []string{"unknown flag --stesp, did you mean --steps?"}},
		{"train ppo --learning-rate 3", []string{"unknown flag --learning-rate", "--set key=value"}},
		{"resume x --stepz 3", []string{"unknown flag --stepz, did you mean --steps?"}},
		{"train", []string{"no algorithm named"}},
		{"train ppoo", []string{`unknown algorithm "ppoo", did you mean "ppo"?`}},
		{"train zzz", []string{`unknown algorithm "zzz": there are a2c, `}},
		{"train ppo dqn", []string{"accepts at most 1 arg"}},
		{"train ppo --env cartpole", []string{`unknown environment "cartpole", did you mean "CartPole-v1"?`}},
		{"train ppo --env Zork", []string{`unknown environment "Zork": there are `, "Acrobot-v1, Agents-v0, Ant-v5, CartPole-v1"}},
		{"train ppo --preset quik", []string{`unknown preset "quik", did you mean "quick"?`}},
		{"train ppo --env Host-v0 --preset quick", []string{`--preset: unknown preset "quick": there is only default`}},
		{"train ppo --steps -3", []string{"--steps: steps: -3 is outside [0,)"}},
		{"train ppo --seed -3", []string{"--seed: seed: "}},
		{"train ppo --workers 2", []string{"--policy: plain is one worker"}},
		{"train ppo --replicas 2", []string{"--replicas: policy plain does not split the loop"}},
		{"train ppo --pipeline", []string{"--pipeline: policy plain does not split the loop"}},
		{"train ppo --on slurmm", []string{`--on: unknown engine "slurmm": there is kubernetes, ray, slurm`}},
		{"train ppo --on slurm --processes 2", []string{"--on: leave out --cluster and --processes"}},
		{"train ppo --nodes 2", []string{"--nodes is a number of machines for --on"}},
		{"train ppo --on ray --nodes 2 --policy single-learner-coarse --ray queue=fast --dry-run", []string{"--ray queue: there is no such option"}},
		{"train ppo --on kubernetes --nodes 2 --policy single-learner-coarse --kubernetes claim=runs --dry-run", []string{"--kubernetes image=NAME is needed"}},
		{"train ppo --on kubernetes --nodes 2 --policy single-learner-coarse --kubernetes image=weft --kubernetes claim=runs --kubernetes gpus=few --dry-run", []string{`--kubernetes gpus: "few" is no whole number`}},
		{"train ppo --ray cpus=2", []string{"--ray needs --on ray"}},
		{"train ppo --slurm time=60", []string{"--slurm needs --on slurm"}},
		{"train ppo --on slurm --slurm =60", []string{`--slurm: "=60" is not of the form key=value`}},
		{"train ppo --on slurm --nodes 2 --dry-run", []string{"--nodes: policy plain is one process: take --nodes 1"}},
		{"train ppo --on slurm --policy single-learner-coarse --dry-run", []string{"--on slurm: say how many machines with --nodes N"}},
		{"train ppo --on slurm --policy auto --nodes 2 --dry-run", []string{"--policy auto: it measures this machine"}},
		{"train ppo --on slurm --slurm time=1 --dry-run", []string{"--slurm time=1 is too short to save the run"}},
		{"train ppo --on kubernetes --seeds 3", []string{"--seeds: a cluster trains one seed a run"}},
		{"train ppo --on ray --population 3 --mutate learning_rate=1e-4..1e-2", []string{"--population: its members are trained on this machine, or with --on slurm"}},
		{"train ppo --on slurm --nodes 3 --policy single-learner-coarse --max-workers 2 --dry-run", []string{"--max-workers: 2 are fewer than the 3 that the job begins with"}},
		{"train ppo --policy single-learner-coarse --workers 2 --max-workers 3", []string{"--max-workers needs --cluster or --on"}},
		{"train ppo --placement learner:w0", []string{"--placement: policy plain does not split the loop"}},
		{"train ppo --devices learner:cpu", []string{"--devices: policy plain does not split the loop"}},
		{"train ppo --no-fuse all", []string{"--no-fuse: policy plain does not split the loop"}},
		{"train ppo --staleness 2", []string{"--staleness: policy plain does not split the loop"}},
		{"train ppo --policy central --workers 2 --staleness 2", []string{"--staleness: it is for asynchronous runs: add --async"}},
		{"train ppo --policy central --workers 2 --queue 3", []string{"--queue: it is for asynchronous runs: add --async"}},
		{"train ppo --device gpu", []string{`unknown device "gpu", there is cpu`}},
		{"train ppo --checkpoint-every 0s", []string{"checkpoint_every: 0s is outside (0s,)"}},
		{"train ppo --env CartPole-v1?x=1", []string{"--env: CartPole-v1 has no settings"}},
		{"train ppo --env Memory-v0?delay", []string{`--env: "delay" is not of the form key=value`}},
		{"train ppo --config absent.yaml", []string{"absent.yaml"}},
		{"train ppo --from nowhere", []string{"--from: ", "nowhere is not a run folder"}},
		{"train ppo --seeds 0", []string{`--seeds: "0" is not a number of seeds`}},
		{"train ppo --set gamma=.9 --set gamma=.8", []string{"gamma: set twice"}},
		{"train ppo --set envs=2 --set horizon=1 --set minibatches=3", []string{"minibatches: 3 are more than the 2 steps of an iteration"}},
		{"train ppo --set memory=8 --set envs=2", []string{"minibatches of whole sequences (memory > 0)"}},
		{"resume", []string{"weft resume takes one run folder, not 0 arguments"}},
		{"resume nowhere", []string{"nowhere is not a run folder: it has no config.yaml"}},
		{"resume " + os.DevNull, []string{os.DevNull + " is not a run folder: it has no config.yaml"}},
		{"eval nowhere", []string{"nowhere is not a run folder"}},
		{"eval nowhere --episodes 0", []string{"--episodes: 0 is not a number of episodes"}},
		{"list", []string{"accepts between 1 and 2 arg"}},
		{"list polices", []string{`"polices", did you mean "policies"?`}},
		{"list envs CartPole", []string{`unknown environment "CartPole", did you mean "CartPole-v1"?`}},
		{"list algorithms ppp", []string{`unknown algorithm "ppp", did you mean "ppo"?`}},
		{"list policies plane", []string{`unknown policy "plane", did you mean "plain"?`}},
	} {
		t.Run(c.args, func(t *testing.T) {
			o := do(t, 2, strings.Fields(c.args)...)
			contains(t, o.errors, c.want...)
			if n := strings.Count(o.errors, "\n"); n != 1 {
				t.Errorf("%d lines for one mistake:\n%s", n, o.errors)
			}
			if !strings.HasPrefix(o.errors, "weft: ") || o.out != "" {
				t.Errorf("output %q, errors %q", o.out, o.errors)
			}
			absent(t, "runs")
		})
	}
}

// The settings of all that is built in are well described, and their presets
// work.
func TestBuiltinSettings(t *testing.T) {
	set := weft.Builtin()
	for _, a := range set.Algorithms {
		if err := config.Check(a.Config()); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
	for _, e := range set.Environments {
		if e.Options == nil {
			continue
		}
		if err := config.Check(e.Options()); err != nil {
			t.Errorf("%s: %v", e.ID, err)
		}
	}
}

// stillborn returns how a run would begin: it is interrupted before its first step.
func stillborn(t *testing.T, args ...string) event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := run(ctx, weft.Builtin(), append(args, "--json")...)
	if o.code != 130 {
		t.Fatalf("%q: exit code %d\n%s", args, o.code, o.errors)
	}
	return events(t, o.out)[0]
}

// twoSides are environments of two sides, by those of presets and examples.
var twoSides = map[string]string{
	"mpe/simple_tag-v3": "mpe/simple_tag-v3", "board/KuhnPoker-v0": "board/KuhnPoker-v0?opponent=none", "Agents-v0": "Tag-v0",
}

func TestEveryPresetBegins(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, a := range weft.Builtin().Algorithms {
		for _, p := range a.Presets {
			name := cmp.Or(p.Env, exampleOf(a, p.Kind))
			t.Run(a.Name+"/"+name+"/"+p.Name, func(t *testing.T) {
				if p.Kind == env.Images || !a.Offline && learnsFromData(t, a) { // there are no data of every environment
					stillbornDry(t, a.Name, name, p.Name, p.Steps)
					return
				}
				if a.Name == "psro" {
					name = twoSides[name]
				}
				args := []string{"train", a.Name, "--env", name, "--preset", p.Name}
				if a.Offline {
					args = []string{"train", a.Name, "--data", "debug:continuous-mixed", "--preset", p.Name}
				}
				e := stillborn(t, args...)
				if e["total"] != float64(p.Steps) || !a.Offline && e["env"] != strings.Split(name, "?")[0] || p.Steps == 0 {
					t.Errorf("%v", e)
				}
			})
		}
	}
}

// learnsFromData reports whether a setting of an algorithm names the data set that it learns from.
func learnsFromData(t *testing.T, a algo.Algorithm) bool {
	t.Helper()
	fields, err := config.Fields(a.Config())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(fields, func(f config.Field) bool { return f.Key == "data" && f.Names == "data set" })
}

// examples are environments of a kind. Those of images are Python's.
var examples = map[env.Kind][]string{
	env.Control: {"MountainCar-v0"}, env.Continuous: {"MountainCarContinuous-v0"}, env.Images: {"atari:Pong"}, env.Teams: {"Agents-v0", "TwoStep-v0"},
}

// exampleOf returns an environment of a kind that an algorithm has no preset for by name.
func exampleOf(a algo.Algorithm, kind env.Kind) string {
	for _, name := range examples[kind] {
		if !slices.ContainsFunc(a.Presets, func(p algo.Preset) bool { return p.Env == name }) {
			return name
		}
	}
	return ""
}

// stillbornDry asks for the configuration of a run whose environments need not be there.
func stillbornDry(t *testing.T, algorithm, name, preset string, steps int64) {
	t.Helper()
	o := run(t.Context(), weft.Builtin(), "train", algorithm, "--env", name, "--preset", preset, "--dry-run")
	contains(t, strings.ReplaceAll(o.out, `"`, ""), fmt.Sprintf("steps: %d\n", steps), fmt.Sprintf("env: %s\n", name))
}

// TestSuitablePreset looks for the settings that an environment gets that no preset names: those of
// the same task elsewhere, of its kind, or the general ones.
func TestSuitablePreset(t *testing.T) {
	for _, c := range []struct{ algorithm, env, want string }{
		{"ppo", "gym:CartPole-v1", "steps: 500000\n"},
		{"ppo", "gym:Pendulum-v1", "gamma: 0.9\n"},
		{"ppo", "gym:BipedalWalker-v3", "normalize_obs: true\n"},
		{"ppo", "gym:CarRacing-v3", "steps: 10000000\n"},
		{"ppo", "gym:somebody:Task-v7", "steps: 500000\n"},
		{"ppo", "Hopper-v5", "horizon: 2048\n"},
		{"dqn", "MountainCar-v0", "steps: 500000\n"},
		{"mappo", "zoo:mpe2.simple_spread_v3", "steps: 2000000\n"},
	} {
		o := run(t.Context(), weft.Builtin(), "train", c.algorithm, "--env", c.env, "--dry-run")
		if o.code != 0 || !strings.Contains(o.out, c.want) {
			t.Errorf("%s on %s: exit code %d, no %q in\n%s%s", c.algorithm, c.env, o.code, c.want, o.out, o.errors)
		}
	}
}

// A preset is overridden by a file, and a file by flags.
func TestPrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	file := write(t, "run.yaml", "algorithm: ppo\nenv: CartPole-v1\nsteps: 1000\nseed: 3\nset:\n  gamma: 0.5\n  envs: 2\n")
	for _, c := range []struct {
		name  string
		args  []string
		env   string
		steps float64
		seed  float64
		lines []string // of config.yaml
	}{
		{"bare", []string{"train", "ppo"}, "CartPole-v1", 64_000, 1, []string{"preset: quick", "  envs: 16", "  gamma: 0.98"}},
		{"env", []string{"train", "ppo", "--env", "CartPole-v1"}, "CartPole-v1", 500_000, 1, []string{"preset: default", "  envs: 4", "  gamma: 0.99"}},
		{"preset", []string{"train", "ppo", "--env", "CartPole-v1", "--preset", "quick"}, "CartPole-v1", 64_000, 1, []string{"preset: quick", "  envs: 16"}},
		{"preset alone", []string{"train", "ppo", "--preset", "default"}, "CartPole-v1", 500_000, 1, []string{"preset: default"}},
		{"flag over preset", []string{"train", "ppo", "--steps", "999", "--set", "envs=3"}, "CartPole-v1", 999, 1, []string{"  envs: 3", "  gamma: 0.98"}},
		{"file", []string{"train", "--config", file}, "CartPole-v1", 1000, 3, []string{"preset: default", "  envs: 2", "  gamma: 0.5"}},
		{"file over preset", []string{"train", "--config", file, "--preset", "quick"}, "CartPole-v1", 1000, 3, []string{"  envs: 2", "  horizon: 64"}},
		{"flags over file", []string{"train", "--config", file, "--seed", "9", "--steps", "77", "--set", "envs=1"}, "CartPole-v1", 77, 9, []string{"  envs: 1", "  gamma: 0.5"}},
		{"options", []string{"train", "ppo", "--env", "Memory-v0?delay=3"}, "Memory-v0", 120_000, 1, []string{`env: "Memory-v0?delay=3"`, "  memory: 32"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := stillborn(t, c.args...)
			if e["env"] != c.env || e["total"] != c.steps || e["seed"] != c.seed {
				t.Errorf("begins as %v", e)
			}
			lines := strings.Split(read(t, e["out"].(string), "config.yaml"), "\n")
			for _, want := range c.lines {
				if !slices.Contains(lines, want) {
					t.Errorf("config.yaml lacks %q", want)
				}
			}
		})
	}
}

// An algorithm that has no presets needs an environment.
func TestNoPresets(t *testing.T) {
	a := ppo.Algorithm
	a.Presets = nil
	set := weft.Builtin()
	set.Algorithms[0] = a
	var errs bytes.Buffer
	if code := cli.Run(t.Context(), set, []string{"train", "ppo"}, io.Discard, &errs); code != 2 {
		t.Errorf("exit code %d", code)
	}
	contains(t, errs.String(), "--env is needed: ppo has no preset")
}

// What only the environment itself finds wrong is found before anything starts.
func TestEnvironmentRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	set := weft.Builtin()
	set.Environments = append(set.Environments, env.Entry{ID: "Broken-v0", New: broke})
	for _, more := range [][]string{nil, {"--seeds", "2"}} {
		o := run(t.Context(), set, append([]string{"train", "ppo", "--env", "Broken-v0", "--steps", "64"}, more...)...)
		if o.code != 2 {
			t.Errorf("exit code %d", o.code)
		}
		contains(t, o.errors, "Broken-v0", "no licence")
		absent(t, "runs")
	}
}
