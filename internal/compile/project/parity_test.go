package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outcome is what testdata/src/parity says of a run.
type outcome struct {
	Loop, Grouping string
	Replicas       int
	Weights, State string
	Logs           []string
	Values         []float64
	Moved          bool
	Err            string
}

// overlaid are the generated files as the go command sees them beside the loops,
// which get what a runner wants of a trainer.
func overlaid(t testing.TB, results []Result, change func(pkg, name string, text []byte) []byte) string {
	dir := t.TempDir()
	replace := map[string]string{}
	put := func(name string, text []byte) {
		file := filepath.Join(dir, fmt.Sprintf("%d%s", len(replace), filepath.Ext(name)))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[name] = file
	}
	for _, r := range results {
		for name, text := range r.Files {
			if change != nil {
				text = change(filepath.Base(r.Package), name, text)
			}
			put(filepath.Join(r.Dir, name), text)
		}
		if strings.Contains(r.Package, "/testdata/") {
			recv := "*Trainer"
			if strings.Contains(string(r.Files["gen_weft.go"]), "Trainer[") {
				recv = "*Trainer[S]"
			}
			put(filepath.Join(r.Dir, "zz_agent.go"), fmt.Appendf(nil, "package %s\n\nimport \"%s/rl\"\n\nfunc (t %s) Agent() rl.Agent { return nil }\n", filepath.Base(r.Package), strings.TrimSuffix(module, "/"), recv))
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// ran runs loops plain and taken apart.
func ran(t testing.TB, overlay string, names ...string) map[string][]outcome {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.Command(goTool, append([]string{"run", "-overlay", overlay, "./testdata/src/parity"}, names...)...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &problems)
	}
	var list []outcome
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	by := map[string][]outcome{}
	for _, o := range list {
		by[o.Loop] = append(by[o.Loop], o)
	}
	return by
}
