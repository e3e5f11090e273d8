package analyze

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVet: go vet shows the same findings, without the notes, and reads through
// packages that a loop is built on.
func TestVet(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "weft-vet")
	if out, err := exec.Command(goTool, "build", "-ldflags=-w", "-o", tool, module+"/cmd/weft-vet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for dir, want := range map[string][]string{
		"src/loops/gail":         nil,
		"src/findings/follows":   nil, // only notes
		"src/findings/dynamic":   {"dynamic.go:23:14: which type is behind this interface"},
		"src/findings/goroutine": {"goroutine.go:18:3: a goroutine hides"},
		"src/findings/quiet":     {"quiet.go:4:1: there is no directive //weft:trian"},
	} {
		var got bytes.Buffer
		cmd := exec.Command(goTool, "vet", "-vettool="+tool, "./testdata/"+dir)
		cmd.Stdout, cmd.Stderr = &got, &got
		if err := cmd.Run(); (err == nil) != (want == nil) {
			t.Errorf("%s: %v\n%s", dir, err, &got)
		}
		for _, w := range want {
			if !strings.Contains(got.String(), w) {
				t.Errorf("%s: no %q in\n%s", dir, w, &got)
			}
		}
	}
}
