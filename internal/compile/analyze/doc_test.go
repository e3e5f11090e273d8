package analyze

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDoc: the page about graphs shows PPO's as it is, and knows every directive
// and every code of a finding.
func TestDoc(t *testing.T) {
	page, err := os.ReadFile("../../../docs/fdg.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(page)
	results, err := Analyze(context.Background(), ".", "../../../algo/ppo")
	if err != nil {
		t.Fatal(err)
	}
	graph := results[0].Graph.String()
	for _, block := range regexp.MustCompile("(?s)```text\n(.*?)\n```").FindAllStringSubmatch(doc, -1) {
		for _, line := range strings.Split(block[1], "\n") {
			if line != "..." && !strings.Contains(graph, line+"\n") {
				t.Errorf("the page shows a line that is not in PPO's graph: %s", line)
			}
		}
	}
	for _, name := range names {
		if !strings.Contains(doc, "`//weft:"+name) {
			t.Errorf("the page does not know //weft:%s", name)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:bad|report|note|refuse)\([^"\n]*, "([a-z]+)", `).FindAllStringSubmatch(string(src), -1) {
			if !strings.Contains(doc, "`"+m[1]+"`") {
				t.Errorf("the page does not know findings of kind %s (%s)", m[1], file)
			}
		}
	}
}
