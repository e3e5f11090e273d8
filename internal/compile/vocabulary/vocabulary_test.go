package vocabulary

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
)

// ours reads the vocabulary of this module.
func ours(t *testing.T) *Set {
	t.Helper()
	files := map[string][]string{}
	for _, pkg := range []string{"rl", "env", "replay", "nn", "search", "league", "algo"} {
		list, err := filepath.Glob(filepath.Join("..", "..", "..", pkg, "*.go"))
		if err != nil || len(list) == 0 {
			t.Fatalf("no files of %s: %v", pkg, err)
		}
		files[pkg] = list
	}
	s, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOurs(t *testing.T) {
	s := ours(t)
	if len(s.Words) < 100 || len(s.Components) < 10 {
		t.Errorf("%d words and %d components", len(s.Words), len(s.Components))
	}
	apply := s.Words["rl.Opt.Apply"]
	if apply.Use != Operation || apply.Kind != fdg.Apply || !apply.Writes || !apply.Params || apply.Device != "edge.ApplyAt" || apply.Number != 1 {
		t.Errorf("rl.Opt.Apply is %+v", apply)
	}
	step := s.Words["env.Batch.Step"]
	if step.Kind != fdg.Step || !step.One || strings.Join(step.State, ",") != "episodes" || step.Shape != "env" {
		t.Errorf("env.Batch.Step is %+v", step)
	}
	key := s.Words["rl.Run.Key"]
	if key.Use != Pure || key.Index != 1 || !key.Indices || key.Device != "edge.KeyAt" {
		t.Errorf("rl.Run.Key is %+v", key)
	}
	loss := s.Words["rl.NewLoss"]
	if !loss.Makes || loss.NameAt != 1 || loss.GraphAt != 2 || loss.ParamsAt != 3 {
		t.Errorf("rl.NewLoss is %+v", loss)
	}
	returns := s.Components["nn.Returns"]
	if returns.Axis != fdg.Environments || returns.Copyable || !returns.Parts["stats"].Copyable {
		t.Errorf("nn.Returns is %+v", returns)
	}
	if w := s.Words["rl.FromFlat"]; w.Use != Refused || w.Instead == "" {
		t.Errorf("rl.FromFlat is %+v", w)
	}
	if !s.Types["rl.Grads"].Gradient || !s.Types["rl.Obs"].Batch || !s.Types["nn.Schedule"].Pure {
		t.Errorf("types are %+v", s.Types)
	}
}

// table is a component whose state has a home.
const table = "//weft:component table axis=none home=replay\ntype T struct{}\n\n"

// TestMistakes gives directives that are wrong, each with what is said of it.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"//weft:op\nfunc F() {}":                                                                       "an operation has a kind",
		"//weft:op sample wholly\nfunc F() {}":                                                         `has no attribute "wholly"`,
		"//weft:op sample number=x\nfunc F() {}":                                                       "is not understood",
		"//weft:pure\n//weft:moves\nfunc F() {}":                                                       "says twice",
		"//weft:refuse\nfunc F() {}":                                                                   "without saying what to write instead",
		"//weft:component\ntype T struct{}":                                                            "a component has a kind",
		"//weft:part stats statistics\ntype T struct{}":                                                "stands below //weft:component",
		"//weft:op read\ntype T struct{}":                                                              "says nothing",
		"//weft:batch\nfunc F() {}":                                                                    "says nothing about a function",
		"//weft:component table colour=red\ntype T struct{}":                                           `has no attribute "colour=red"`,
		"type T interface {\n\t//weft:op\n\tF()\n}":                                                    "an operation has a kind",
		"//weft:componemt table\ntype T struct{}":                                                      "says nothing about a type",
		"//weft:op sample reads=yes\nfunc F() {}":                                                      `"reads=yes"`,
		"//weft:op sample reads\nfunc (t *T) F() {}\ntype T 5":                                         "expected",
		"//weft:op batch\nfunc F() {}":                                                                 "does not say whether rows depend on each other: write rows or whole",
		"//weft:op batch rows whole\nfunc F() {}":                                                      "says both rows and whole",
		"//weft:op batch whole shape=round\nfunc F() {}":                                               `has a result of shape "round": write env, time, rows or one`,
		"//weft:op batch whole shards=some\nfunc F() {}":                                               "says shards=some: write own, even or all",
		table + "//weft:op insert whole\nfunc (t *T) F() {}":                                           "does not say what it does to its component: write reads, writes, replaces or graph",
		table + "//weft:op sample reads whole\nfunc (t *T) F() int { return 0 }":                       "does not say which rows of the state it returns: write shape=SHAPE",
		table + "//weft:op step writes whole state=sums\nfunc (t *T) F() {}":                           `writes the part "sums", which rl.T has not`,
		"//weft:component table\ntype T struct{}\n\n//weft:op insert writes whole\nfunc (t *T) F() {}": "which has no axis: write axis=AXIS home=FRAGMENT",
		"//weft:component table axis=sideways home=replay\ntype T struct{}":                            `has the axis "sideways"`,
		"//weft:component table axis=none\ntype T struct{}":                                            `and the home ""`,
	} {
		file := filepath.Join(t.TempDir(), "word.go")
		if err := os.WriteFile(file, []byte("package rl\n\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(map[string][]string{"rl": {file}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, want %q", text, err, want)
		}
	}
}
