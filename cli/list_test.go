package cli_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/internal/config"
)

// Help and list show every setting of an algorithm, with its default.
func TestEverySettingIsShown(t *testing.T) {
	for _, a := range weft.Builtin().Algorithms {
		fields, err := config.Fields(a.Config())
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"train", a.Name, "--help"}, {"list", "algorithms", a.Name}} {
			o := do(t, 0, args...)
			for _, f := range fields {
				row := ""
				for line := range strings.Lines(o.out) {
					if strings.HasPrefix(line, f.Key+" ") {
						row = line
					}
				}
				contains(t, row, f.Key, f.Default, strings.Fields(f.Doc)[0])
			}
		}
	}
}

func TestHelpOfUnknown(t *testing.T) {
	contains(t, do(t, 0, "train", "ppoo", "--help").out, "--steps", `did you mean "ppo"?`)
	contains(t, do(t, 0, "train", "./mine", "--help").out, "weft list algorithms ./mine shows its settings")
}

func TestListJSON(t *testing.T) {
	set := weft.Builtin()
	envs := events(t, do(t, 0, "list", "envs", "--json").out)
	if len(envs) != len(set.Environments)+len(set.Schemes) {
		t.Fatalf("%d environments, want %d and %d kinds", len(envs), len(set.Environments), len(set.Schemes))
	}
	for i, e := range envs[len(set.Environments):] {
		if e["name"] != set.Schemes[i].Prefix+":NAME" || e["settings"] == nil {
			t.Errorf("%v", e)
		}
	}
	for i, e := range envs[:len(set.Environments)] {
		spec, ok := e["spec"].(map[string]any)
		if missing, _ := e["missing"].(string); strings.Contains(missing, "pip install") {
			ok, spec = true, nil
		}
		if e["name"] != set.Environments[i].ID || !ok || spec["observation"] == "" || spec["action"] == "" {
			t.Errorf("%v", e)
		}
		if source, _ := e["source"].(string); e["name"] == "Ant-v5" && spec != nil && !strings.HasPrefix(source, "MuJoCo ") {
			t.Errorf("%v is computed by %q", e["name"], source)
		}
	}
	ppo := events(t, do(t, 0, "list", "algorithms", "--json").out)[0]
	settings := ppo["settings"].([]any)
	if first := settings[0].(map[string]any); first["key"] != "envs" || first["default"] != "4" || first["unit"] != "environments" {
		t.Errorf("%v", first)
	}
	if first := ppo["presets"].([]any)[0].(map[string]any); first["name"] != "quick" || first["steps"] != 64_000. {
		t.Errorf("%v", first)
	}
	if all := events(t, do(t, 0, "list", "policies", "--json").out); len(all) < 7 || all[0]["name"] != "plain" || all[1]["name"] != "single-learner-coarse" {
		t.Errorf("%v", all)
	}
	if one := events(t, do(t, 0, "list", "envs", "Memory-v0", "--json").out); len(one) != 1 || one[0]["name"] != "Memory-v0" {
		t.Errorf("%v", one)
	}
}

// Agents are shown where there are several, with their kinds.
func TestListAgents(t *testing.T) {
	contains(t, do(t, 0, "list", "envs", "Agents-v0").out, "3 x Box(0..1, [4])")
	contains(t, do(t, 0, "list", "envs", "Kinds-v0").out, "3 symbol: Box(0..1, [4]), 1 number: Box(-1..1, [1])")
	spec := events(t, do(t, 0, "list", "envs", "Kinds-v0", "--json").out)[0]["spec"].(map[string]any)
	kinds := spec["kinds"].([]any)
	if spec["agents"] != 4. || len(kinds) != 2 || kinds[0].(map[string]any)["kind"] != "symbol" {
		t.Errorf("%v", spec)
	}
	contains(t, do(t, 2, "train", "ppo", "--env", "Kinds-v0", "--steps", "10").errors, "2 kinds of agents (symbol, number)")
	contains(t, do(t, 2, "train", "ppo", "--env", "Agents-v0", "--steps", "10").errors, "Agents-v0 has 3 agents")
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		contains(t, do(t, 0, args...).out, "train", "resume", "eval", "list", "weft train ppo")
	}
}

// What is shown fits a terminal of 80 columns. Commands, which are to be copied, may be longer.
func TestWidth(t *testing.T) {
	var all [][]string
	for _, kind := range []string{"algorithms", "envs", "policies", "wrappers"} {
		all = append(all, []string{"list", kind})
		for _, x := range events(t, do(t, 0, "list", kind, "--json").out) {
			name, _, _ := strings.Cut(strings.Split(x["name"].(string), "[")[0], "=")
			if !strings.Contains(name, ":NAME") && x["missing"] == nil {
				all = append(all, []string{"list", kind, name})
			}
		}
	}
	for line := range strings.Lines(do(t, 0, "--help").out) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(line, "  ") && f[0] != "weft" && !strings.HasPrefix(f[0], "-") {
			all = append(all, []string{f[0], "--help"})
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %q", all)
	}
	for _, args := range append(all, []string{"devices"}, []string{"bench"}, []string{"--help"}, []string{"train", "ppo", "--help"}, []string{"certs", "issue", "--help"}) {
		for line := range strings.Lines(do(t, 0, args...).out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(line, "  weft ") {
				t.Errorf("weft %s: %d columns: %s", strings.Join(args, " "), n, line)
			}
		}
	}
}
