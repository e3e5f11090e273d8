package gym

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// faulty returns environments, two to a worker, of which the second of a worker fails
// at its third step.
func faulty(t *testing.T, n int, how, once string, change func(*Options)) (*rl.Scope, env.Batch) {
	o := with(func(o *Options) {
		o.Workers = n / 2
		if how == "hang" {
			o.Timeout = 5 * time.Second // in which a busy machine does a step
		}
		o.Exact = false // a probe makes environments too
		if change != nil {
			change(o)
		}
	})
	for _, kv := range [][2]string{{"how", how}, {"once", once}} {
		if err := o.SetExtra(kv[0], kv[1]); err != nil {
			t.Fatal(err)
		}
	}
	return openTest(t, ours+"Faulty", n, o)
}

// steps takes n steps with action 0.
func steps(s *rl.Scope, b env.Batch, n int) (out []rl.Step, err error) {
	zero := rl.One(rl.FromFlat(s, make([]int32, b.Spec().Rows), b.Spec().Rows))
	err = rl.Catch(func() error {
		for range n {
			out = append(out, b.Step(zero))
		}
		return nil
	})
	return out, err
}

// Whatever goes wrong in Python stops the run with what, where and when.
func TestFailures(t *testing.T) {
	needs(t)
	t.Parallel()
	for _, c := range []struct {
		how  string
		want []string
	}{
		{"raise", []string{"environment 1, at its step 3: RuntimeError: out of cheese", "Traceback", "weft_test_envs.py", `raise RuntimeError("out of cheese")`}},
		{"die", []string{"worker 0, with environments 0 to 1, has died (signal: killed)", "goodbye"}},
		{"exit", []string{"environment 1, at its step 3: SystemExit: 3"}},
		{"hang", []string{"worker 0, with environments 0 to 1, hangs: it did not answer within 5s"}},
		{"shape", []string{"environment 1, at its step 3: observation has shape [3], its space says [2]"}},
		{"scalar", []string{"environment 1, at its step 3: observation has shape [], its space says [2]"}},
		{"text", []string{"environment 1, at its step 3: observation holds <U1, its space says float64"}},
		{"none", []string{"environment 1, at its step 3: observation has shape [], its space says [2]"}},
		{"nan", []string{"observation of environment 1 is NaN (element 0)"}},
		{"range", []string{"observation of environment 1 is -5 (element 1), outside Box"}},
		{"reward", []string{"reward of environment 1 is +Inf"}},
		{"words", []string{"environment 1, at its step 3: TypeError"}},
	} {
		t.Run(c.how, func(t *testing.T) {
			s, b := faulty(t, 2, c.how, "", nil)
			out, err := steps(s, b, 4)
			if err == nil || len(out) != 2 {
				t.Fatalf("%d steps, error %v", len(out), err)
			}
			for _, want := range append(c.want, "step 6: environment gym:weft_test_envs:Faulty") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\ndoes not say %s", err, want)
				}
			}
		})
	}
}

// With restarts, the environments of the worker that failed are cut off where
// they were, and begin anew; the others notice nothing.
func TestRestart(t *testing.T) {
	needs(t)
	t.Parallel()
	s, b := openTest(t, ours+"Base", 4, with(func(o *Options) { o.Workers = 2 }))
	plain, err := steps(s, b, 8)
	if err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"raise", "die", "hang", "nan"} {
		t.Run(how, func(t *testing.T) {
			s, b := faulty(t, 4, how, filepath.Join(t.TempDir(), "once"), func(o *Options) { o.OnFailure = "restart" })
			out, err := steps(s, b, 8)
			if err != nil {
				t.Fatal(err)
			}
			// Whichever worker comes to its third step first fails; only one does.
			cut := rl.Read[bool](out[2].Truncated)
			first := slices.Index(cut, true)
			if n := count4(cut); n != 2 || first%2 != 0 || !cut[first+1] {
				t.Fatalf("cut off %v", cut)
			}
			last, final, next := rl.Read[float32](out[1].Obs.X.At(0)), rl.Read[float32](out[2].Final.X.At(0)), rl.Read[float32](out[2].Obs.X.At(0))
			for i := 2 * first; i < 2*first+4; i++ {
				if final[i] != last[i] || i%2 == 0 && next[i] != 0 {
					t.Errorf("last %v, final %v, next %v", last, final, next)
				}
			}
			if r := rl.Read[float32](out[2].Reward); r[first] != 0 || r[first+1] != 0 {
				t.Errorf("rewards %v", r)
			}
			other := 2 - first // the other worker's environments go on as ever
			for i := range out {
				if got, want := rl.Read[float32](out[i].Obs.X.At(0))[2*other:2*other+4], rl.Read[float32](plain[i].Obs.X.At(0))[2*other:2*other+4]; !slices.Equal(got, want) {
					t.Errorf("step %d: %v, want %v", i, got, want)
				}
			}
			if c := rl.System.Counts(s); len(c) != 1 || c[0].Name != "env/restarts" || c[0].X != 2 {
				t.Errorf("counts %v", c)
			}
			if n := rl.System.TakeNotes(s); len(n) != 1 || !strings.Contains(n[0], "step 12") || !strings.Contains(n[0], "was restarted") {
				t.Errorf("notes %q", n)
			}
		})
	}
}

func count4(x []bool) (n int) {
	for _, v := range x {
		if v {
			n++
		}
	}
	return n
}

// An environment that fails whatever is done is not restarted for ever.
func TestRestartInVain(t *testing.T) {
	needs(t)
	t.Parallel()
	s, b := faulty(t, 2, "raise", "", func(o *Options) {
		o.OnFailure = "restart"
		_ = o.SetExtra("at", "1")
	})
	if _, err := steps(s, b, 8); err == nil || !strings.Contains(err.Error(), "failed 3 times without a step in between") {
		t.Errorf("error %v", err)
	}
}

// What is missing is said in a sentence, with what to do about it.
func TestMissing(t *testing.T) {
	needs(t)
	t.Parallel()
	python, err := interpreter("")
	if err != nil {
		t.Fatal(err)
	}
	bare := filepath.Join(t.TempDir(), "bare")
	if err := os.WriteFile(bare, fmt.Appendf(nil, "#!/bin/sh\nexec %s -S -I \"$@\"\n", python), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, id string
		change   func(*Options)
		want     string
	}{
		{"python", "CartPole-v1", func(o *Options) { o.Python = "no-such-python" }, "there is no Python interpreter no-such-python: install Python 3.10 or later, or name one with --python"},
		{"gymnasium", "CartPole-v1", func(o *Options) { o.Python = bare }, "gymnasium is not installed for"},
		{"id", "CartPoole-v1", nil, "`CartPoole` doesn't exist. Did you mean"},
		{"module", "no_such_module:Env-v0", nil, "Python has no module 'no_such_module'"},
		{"argument", "CartPole-v1", func(o *Options) { _ = o.SetExtra("legs", "2") }, "unexpected keyword argument 'legs'"},
		{"wrapper", "CartPole-v1", func(o *Options) { o.Wrappers = []string{"NoSuch"} }, "gymnasium.wrappers has no wrapper 'NoSuch'"},
		{"class", "weft_test_envs:os.getcwd", nil, "doesn't exist"},
		{"not an environment", "collections:OrderedDict", nil, "makes a OrderedDict, which is no gymnasium.Env"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := env.Open(newScope(t, 1), entry(t, c.id), 1, with(c.change))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "Traceback") {
				t.Errorf("error %v\nwant ...%s...", err, c.want)
			}
		})
	}
}

// Observations that are no numbers are told from those that are large.
func TestTooLarge(t *testing.T) {
	if _, _, v, bad := outside(rl.Box{}, rl.FromFlat(newScope(t, 1), []float32{1, float32(math.Inf(1))}, 2)); !bad || !math.IsInf(v, 1) {
		t.Errorf("%v, %v", v, bad)
	}
}
