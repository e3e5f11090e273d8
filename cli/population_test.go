package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/internal/request"
)

// fewMembers are the arguments of a small population of PPO.
var fewMembers = []string{
	"train", "ppo", "--env", "Identity-v0", "--steps", "512", "--seed", "5", "--eval-episodes", "4", "--population", "4", "--exploit-every", "128",
	"--mutate", "learning_rate=1e-4..1e-1", "--mutate", "epochs=1..3", "--set", "envs=4", "--set", "horizon=16", "--set", "hidden=8",
}

// TestPopulation: a population copies and changes, says so, and ends with a best member that other
// commands take. With another number of members at once, and in processes, it is the same.
func TestPopulation(t *testing.T) {
	t.Chdir(t.TempDir())
	said := do(t, 0, append(fewMembers, "--out", "whole")...).out
	contains(t, said, "ppo on Identity-v0: 4 members from seed 5, 4 generations of 128 steps each, in whole", "generation 4 of 4: step 512, eval/return",
		"copies member", "at step 128: all of its state; learning_rate ", "the best is member", "weft eval, export and serve take whole")
	do(t, 0, append(fewMembers, "--out", "one", "--processes", "3")...)
	if a, b := read(t, "whole", "population.json"), read(t, "one", "population.json"); a != b {
		t.Errorf("in processes\n%s\nin one\n%s", b, a)
	}
	contains(t, do(t, 0, "population", "whole").out, "MEMBER", "the best", "generation 2 of 4")
	all := events(t, do(t, 0, "population", "whole", "--json").out)
	if all[len(all)-1]["event"] != "done" || !strings.Contains(read(t, "whole", "population.json"), all[len(all)-1]["state_sha256"].(string)) {
		t.Errorf("%v", all[len(all)-1])
	}
	do(t, 0, "population", "whole", "--svg", "lineage.svg")
	contains(t, read(t, ".", "lineage.svg"), "</svg>", "who copied whom", "member 3", "learning_rate, log10")
	do(t, 0, "eval", "whole", "--episodes", "4")
	do(t, 0, "export", "whole", "--out", "whole.onnx")
	contains(t, do(t, 0, "compare", "pop=whole", "again=one").out, "pop", "again")
	do(t, 0, "plot", "whole", "--out", "plot.svg")
	do(t, 0, "train", "ppo", "--env", "Identity-v0", "--steps", "64", "--from", "whole", "--set", "envs=4", "--set", "horizon=16", "--set", "hidden=8", "--out", "from")
	a, err := app.Load(t.Context(), weft.Builtin(), "whole", app.Loading{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	contains(t, do(t, 2, append(fewMembers, "--out", "whole")...).errors, "--out: whole already holds a population: weft resume whole goes on with it")
	contains(t, do(t, 0, "resume", "whole").out, "the best is member")
}

// TestPopulationKilled: a population that is killed and resumed, again and again, in one process or
// in several, has the lineage and the bits of one that was not.
func TestPopulationKilled(t *testing.T) {
	for _, choose := range []string{"truncation", "tournament"} {
		t.Run(choose, func(t *testing.T) {
			t.Chdir(t.TempDir())
			args := append(fewMembers, "--select", choose, "--checkpoint-steps", "64")
			do(t, 0, append(args, "--out", "whole")...)
			kills := 0
			for now := append(args, "--out", "killed"); ; now = []string{"resume", "killed"} {
				if kills%2 == 1 {
					now = append(now, "--processes", "2")
				}
				cmd := exec.Command(os.Args[0], append(now, "--json")...)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				pipe, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				if scanned(pipe, `"event":"generation"`) && kills < 3 {
					_ = cmd.Process.Kill() // or it has ended
					kills++
					_ = cmd.Wait()
					continue
				}
				if err := cmd.Wait(); err != nil {
					t.Fatalf("%v\n%s", err, errs.String())
				}
				break
			}
			if a, b := read(t, "whole", "population.json"), read(t, "killed", "population.json"); a != b || kills < 3 {
				t.Errorf("after %d kills\n%s\nwithout\n%s", kills, b, a)
			}
			for i := range 4 {
				if member := request.MemberFolder("killed", i); choose == "truncation" {
					contains(t, do(t, 0, "resume", member).out, "is finished: nothing was left to do")
				}
			}
			do(t, 0, "eval", "killed", "--episodes", "4")
		})
	}
}

// valleyPopulation trains a population of valleys.
func valleyPopulation(ctx context.Context, t *testing.T, out string, more ...string) outcome {
	t.Helper()
	return run(ctx, valleys(), append([]string{"train", "valley", "--steps", "27", "--population", "8", "--exploit-every", "3", "--metric", "height",
		"--goal", "min", "--mutate", "y=1e-4..1", "--out", out}, more...)...)
}

// TestPopulationFails: a member that fails is named and replaced, and the others go on.
func TestPopulationFails(t *testing.T) {
	t.Chdir(t.TempDir())
	o := valleyPopulation(t.Context(), t, "fail", "--mutate", "fail=false,true")
	if o.code != 0 {
		t.Fatal(o.out, o.errors)
	}
	contains(t, o.out, "generation 1: member", "failed: ", "invalid argument", ", which failed, copies member")
	var x struct {
		Generations []struct{ Members []struct{ Error string } }
		Best        struct{ Score float64 }
	}
	if err := json.Unmarshal([]byte(read(t, "fail", "population.json")), &x); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range x.Generations[0].Members {
		if m.Error != "" {
			n++
		}
	}
	if n != 4 || x.Best.Score > .3 {
		t.Errorf("%d members failed in the first generation, want 4; the best has %v", n, x.Best.Score)
	}
}

// TestPopulationInterrupted: an interrupted population says how to go on, and goes on to the same
// end.
func TestPopulationInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	if o := valleyPopulation(t.Context(), t, "whole"); o.code != 0 {
		t.Fatal(o.errors)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopAfter{text: "generation", times: 4, cancel: cancel}
	args := []string{"train", "valley", "--steps", "27", "--population", "8", "--exploit-every", "3", "--metric", "height", "--goal", "min", "--mutate", "y=1e-4..1", "--out", "cut"}
	if code := cli.Run(ctx, valleys(), args, out, new(bytes.Buffer)); code != 130 {
		t.Errorf("exit code %d", code)
	}
	contains(t, out.String(), "interrupted, saved: weft resume cut goes on")
	contains(t, run(t.Context(), valleys(), "eval", "cut").errors, "cut holds a population that has not come to its end: weft resume cut goes on with it")
	if err := os.CopyFS("apart", os.DirFS("cut")); err != nil {
		t.Fatal(err)
	}
	run(t.Context(), valleys(), "resume", filepath.Join("apart", "member-07"))
	contains(t, run(t.Context(), valleys(), "resume", "apart").out, "member 7 failed: the member's run was trained to step 27 by itself, and its generation ends at step",
		"member 7, which failed, copies member")
	if o := run(t.Context(), valleys(), "resume", "cut"); o.code != 0 {
		t.Fatal(o.errors)
	}
	if a, b := read(t, "whole", "population.json"), read(t, "cut", "population.json"); a != b {
		t.Errorf("interrupted\n%s\nundisturbed\n%s", b, a)
	}
}

// TestPopulationMistakes: what is wrong with a population is told at once, and nothing starts.
func TestPopulationMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	base := []string{"train", "ppo", "--steps", "4096", "--out", "bad"}
	for _, c := range []struct {
		args string
		want []string
	}{
		{"--mutate gamma=.9..1", []string{"--mutate needs --population"}},
		{"--population none --mutate gamma=.9..1", []string{`--population: "none" is not a number of members, at least 2`}},
		{"--population 1 --mutate gamma=.9..1", []string{`--population: "1" is not a number of members`}},
		{"--population 4", []string{"--population: no setting differs between members: add --mutate"}},
		{"--population 4 --mutate gama=.9..1", []string{"--mutate: gama: no such setting: did you mean gamma?"}},
		{"--population 4 --mutate gamma=.9..1.5", []string{"gamma: 1.5 is outside [0,1]"}},
		{"--population 4 --mutate gamma=.9", []string{`--mutate: gamma: ".9" is no range, as in 1e-4..1e-2`}},
		{"--population 4 --mutate gamma", []string{`--mutate: "gamma" is not of the form key=lo..hi`}},
		{"--population 4 --mutate gamma=x..1", []string{`--mutate: gamma: the ends of "x..1" are not both numbers`}},
		{"--population 4 --mutate gamma=1..0.5", []string{"--mutate: gamma: from 1 to 0.5 is no range"}},
		{"--population 4 --mutate seed=1..9", []string{"--mutate: seed is a setting of the run, which is the same for all members"}},
		{"--population 4 --mutate gamma=.9..1 --mutate gamma=.8..1", []string{"--mutate: gamma is given twice"}},
		{"--population 4 --mutate gamma=.9..1 --set gamma=.9", []string{"--set and --mutate: both are given gamma"}},
		{"--population 4 --mutate gamma=.9..1 --seeds 3", []string{"--population and --seeds: give one of them"}},
		{"--population 4 --mutate gamma=.9..1 --select best", []string{`unknown --select "best"`}},
		{"--population 4 --mutate gamma=.9..1 --goal high", []string{`--goal: "high" is neither max nor min`}},
		{"--population 4 --mutate gamma=.9..1 --exploit-every 4096", []string{"--exploit-every: 4096 steps are not before the end of the run at 4096"}},
		{"--population 4 --mutate gamma=.9..1 --eval-episodes 0", []string{"--metric: eval/return needs evaluations, and --eval-episodes is 0"}},
		{"--population 4 --mutate gamma=.9..1 --exploit-every 1000 --eval-every 300", []string{"--eval-every: members are compared by evaluations every 1000 steps"}},
		{"--population 4 --mutate gamma=.9..1 --cluster 127.0.0.1:1", []string{"--population: its members are trained on this machine"}},
		{"--population 4 --mutate gamma=.9..1 --dry-run", []string{"--dry-run is for a single run"}},
		{"--population 4 --mutate gamma=.9..1 --policy central --async --workers 2", []string{"--population: asynchronous members do not repeat"}},
		{"--population 4 --mutate hidden=32,64", []string{"--mutate: hidden cannot change while a run goes on: with hidden=32 its state", "weft sweep searches for such settings"}},
		{"--population 4 --mutate envs=4..8", []string{"--mutate: envs cannot change while a run goes on"}},
	} {
		contains(t, do(t, 2, append(base, strings.Fields(c.args)...)...).errors, c.want...)
		absent(t, "bad")
	}
	contains(t, do(t, 2, "population", ".").errors, ". is not the folder of a population: it has no population.json")
	put(t, "population.json", "{")
	contains(t, do(t, 2, "resume", ".").errors, "population.json: unexpected end of JSON input")
}
