package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
)

// sources returns the sources and values that config show tells, by key.
func sources(t *testing.T, args ...string) map[string][2]string {
	t.Helper()
	out := map[string][2]string{}
	for _, e := range events(t, do(t, 0, append([]string{"config", "show"}, append(args, "--json")...)...).out) {
		out[e["key"].(string)] = [2]string{e["value"].(string), e["source"].(string)}
	}
	return out
}

// Every setting says where it comes from, and the one stated order holds: defaults, preset, files
// with those that they extend before them, deployment, flags, --set.
func TestConfigShow(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "base.yaml", "algorithm: ppo\nenv: CartPole-v1\nseed: 3\nsteps: 1000\nset:\n  gamma: 0.5\n  envs: 2\n  epochs: 7\n")
	put(t, "sub/run.yaml", "extends: ../base.yaml\nsteps: 2000\nset.envs: 8\n")
	put(t, "later.yaml", "set:\n  epochs: 9\n")
	put(t, "deploy.yaml", "policy: single-learner-coarse\nworkers: 2\n")
	got := sources(t, "--config", "sub/run.yaml", "--config", "later.yaml", "--deployment", "deploy.yaml", "--seed", "5", "--set", "set.gamma=0.75")
	for key, want := range map[string][2]string{
		"algorithm":         {"ppo", "base.yaml:1"},
		"steps":             {"2000", "sub/run.yaml:2"},
		"seed":              {"5", "--seed"},
		"policy":            {"single-learner-coarse", "deploy.yaml:1"},
		"preset":            {"default", "preset default"},
		"keep":              {"3", "default"},
		"set.envs":          {"8", "sub/run.yaml:3"},
		"set.epochs":        {"9", "later.yaml:2"},
		"set.gamma":         {"0.75", "--set"},
		"set.learning_rate": {"0.00025", "default"},
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	got = sources(t, "ppo")
	for key, want := range map[string][2]string{
		"env": {"CartPole-v1", "preset quick"}, "steps": {"64000", "preset quick"}, "set.envs": {"16", "preset quick"}, "algorithm": {"ppo", "command line"},
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if got := sources(t, "ppo", "--env", "Memory-v0?delay=3"); got["env?delay"] != [2]string{"3", "--env"} {
		t.Errorf("the environment's setting is %q", got["env?delay"])
	}
	contains(t, do(t, 0, "config", "show", "ppo", "--changed").out, "SETTING", "set.envs", "preset quick")
	if out := do(t, 0, "config", "show", "ppo", "--changed").out; strings.Contains(out, "checkpoint_every") {
		t.Errorf("--changed shows a default:\n%s", out)
	}
}

// What a run's folder says is what the command line said.
func TestConfigShowRun(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "one", "--seed", "4")...)
	if got := sources(t, "one"); got["seed"][0] != "4" || !strings.HasPrefix(got["seed"][1], filepath.Join("one", "config.yaml")+":") || got["set.hidden"][0] != "8" {
		t.Errorf("%q, %q", got["seed"], got["set.hidden"])
	}
	do(t, 0, tiny("--out", "two", "--seed", "5", "--set", "gamma=0.5")...)
	o := do(t, 0, "config", "diff", "one", "two", "--json")
	if o.out != `{"key":"seed","a":"4","b":"5"}`+"\n"+`{"key":"set.gamma","a":"0.99","b":"0.5"}`+"\n" {
		t.Errorf("they differ by\n%s", o.out)
	}
	contains(t, do(t, 1, "config", "diff", "one", "two", "--exit-code").out, "SETTING", "set.gamma", "0.99")
	contains(t, do(t, 0, "config", "diff", "one", filepath.Join("one", "config.yaml"), "--exit-code").out, "no setting differs")
}

// What is wrong with files that build on others says where.
func TestConfigMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "a.yaml", "extends: b.yaml\n")
	put(t, "b.yaml", "extends: [a.yaml, absent.yaml]\nset:\n  gama: 1\n")
	o := do(t, 2, "config", "show", "ppo", "--config", "a.yaml")
	contains(t, o.errors, "b.yaml:1: extends: a.yaml extends itself", "b.yaml:1: extends: open absent.yaml", `b.yaml:3: unknown setting "gama", did you mean "gamma"?`)
	contains(t, do(t, 2, "config", "diff", "a.yaml").errors, "accepts 2 arg")
	contains(t, do(t, 2, "config", "diff", "nowhere", "a.yaml").errors, "nowhere is not a run folder")
	contains(t, do(t, 2, "config", "shwo").errors, `did you mean "show"?`)
}

// The schema knows all settings of runs and of algorithms, with what bounds them.
func TestConfigSchema(t *testing.T) {
	var s struct {
		Properties map[string]json.RawMessage
		Defs       map[string]struct{ Properties map[string]json.RawMessage } `json:"$defs"`
		Pattern    map[string]any                                             `json:"patternProperties"`
		AllOf      []struct {
			Then struct {
				Properties    map[string]json.RawMessage
				PropertyNames json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(do(t, 0, "config", "schema").out), &s); err != nil {
		t.Fatal(err)
	}
	contains(t, string(s.Properties["seed"]), `"type": "integer"`)
	contains(t, string(s.Properties["algorithm"]), `"ppo"`, `"sac"`)
	contains(t, string(s.Properties["env"]), `"CartPole-v1"`)
	contains(t, string(s.Defs["ppo"].Properties["learning_rate"]), `"exclusiveMinimum": 0`, `"default": 0.00025`)
	for _, a := range weft.Builtin().Algorithms {
		if len(s.Defs[a.Name].Properties) < 3 {
			t.Errorf("%s has %d settings", a.Name, len(s.Defs[a.Name].Properties))
		}
	}
	if ppo := s.AllOf[0].Then; s.Pattern[`^set\.`] == nil || !strings.Contains(string(ppo.PropertyNames), `"set.gamma"`) {
		t.Errorf("%s: %s", s.Pattern, ppo.PropertyNames)
	} else {
		contains(t, string(ppo.Properties["set.gamma"]), `"#/$defs/ppo/properties/gamma"`)
	}
	contains(t, string(s.Properties["algorithm"]), `"pattern"`)
	if len(s.AllOf) != len(weft.Builtin().Algorithms) || s.Properties["extends"] == nil || s.Properties["set"] == nil {
		t.Errorf("%d rules", len(s.AllOf))
	}
}

// Shells are told names and what they mean.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		contains(t, do(t, 0, "completion", shell).out, "weft")
	}
	contains(t, do(t, 2, "completion", "csh").errors, `unknown shell "csh", did you mean "zsh"?`)
	for _, c := range []struct{ args, want string }{
		{"train ", "ppo\t"}, {"train ppo --env Cart", "CartPole-v1\t"}, {"train ppo --policy ", "single-learner-coarse\t"},
		{"train ppo --preset ", "quick\t"}, {"train ppo --set learn", "learning_rate=\t"}, {"config show --env ", "atari:\t"}, {"doctor ", "mujoco\n"},
		{"train ppo --device ", "xla:cpu\n"}, {"completion ", "zsh\n"}, {"config ", "schema\t"},
	} {
		contains(t, do(t, 0, append([]string{"__complete"}, strings.Split(c.args, " ")...)...).out, c.want)
	}
}

// The manual has every command and flag, and no line that its macros would take for a request.
func TestManual(t *testing.T) {
	page := do(t, 0, "man").out
	contains(t, page, ".TH WEFT 1", ".SH NAME", ".SS train ALGO", ".SS config show [ALGO|RUN]", `.B \-\-checkpoint\-every`, `weft train ppo \-\-env Acrobot\-v1`, ".SH EXIT STATUS")
	for line := range strings.Lines(page) {
		if macro, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(line, ".") && !strings.Contains(" .TH .SH .SS .TP .B .I .PP .nf .fi .RS .RE ", " "+macro+" ") {
			t.Errorf("request %q", line)
		}
		if strings.HasPrefix(line, "'") {
			t.Errorf("request %q", line)
		}
	}
}

func TestVersion(t *testing.T) {
	contains(t, do(t, 0, "version").out, "weft ", "; go1.")
	if a, b := do(t, 0, "--version").out, do(t, 0, "version").out; a != b {
		t.Errorf("--version says %q, version %q", a, b)
	}
	if e := events(t, do(t, 0, "version", "--json").out)[0]; e["go"] == "" || e["os"] == nil || e["version"] == nil {
		t.Errorf("%v", e)
	}
}

// put makes a file of the working folder.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBashCompletion: bash completes without the package bash-completion, words with equals signs
// and colons in them too.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(os.Args[0], filepath.Join(dir, "weft")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "weft.bash"), do(t, 0, "completion", "bash").out)
	for line, want := range map[string]string{
		"weft swe": "sweep", "weft train mu": "muzero", "weft train ppo --env board/Tic": "board/TicTacToe-v0",
		"weft train ppo --set gam": "gamma=", "weft train ppo --device=xla:cp": "cpu", "weft config sche": "schema",
	} {
		script := `source weft.bash; compopt() { :; }; COMP_LINE=$1; COMP_POINT=${#1}; COMP_WORDS=($1); __start_weft; printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.Command(bash, "--norc", "-c", script, "bash", line)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%q is completed as %q, want %q (%v)", line, got, want, err)
		}
	}
}
