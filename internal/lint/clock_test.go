package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wallTime lists what takes the monotonic reading away from a time, or makes a time that has none.
var wallTime = []string{"Unix", "UnixNano", "UnixMilli", "UnixMicro"}

// A deadline that has passed, by which a blocked call is woken, compares with nothing. Timelines of
// several processes have no other clock in common, and are only drawn.
var wallTimeAllowed = []string{"internal/run/mesh/socket.go: Unix(1, 0)", "internal/run/timing/timing.go: UnixNano()"}

// TestWallTime: nothing in a cluster measures how much time has passed by the wall clock, which is
// set now and then. Times are compared as time.Now returns them, with their monotonic reading.
func TestWallTime(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, folder := range []string{"internal/run", "internal/chaos", "internal/launch", "internal/module", "internal/request", "app", "cli", "env"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, file)
			for _, call := range wallTimes(f) {
				if use := fmt.Sprintf("%s: %s", filepath.ToSlash(rel), call); !slices.Contains(wallTimeAllowed, use) {
					t.Errorf("%s uses the wall clock: compare times with Sub, or say in wallTimeAllowed why not", use)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// wallTimes returns the calls in a file that give up a time's monotonic reading: of wallTime, and
// Round(0).
func wallTimes(f *ast.File) (out []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		var args []string
		for _, x := range call.Args {
			if l, ok := x.(*ast.BasicLit); ok {
				args = append(args, l.Value)
			}
		}
		text := fmt.Sprintf("%s(%s)", name.Sel.Name, strings.Join(args, ", "))
		if slices.Contains(wallTime, name.Sel.Name) || text == "Round(0)" {
			out = append(out, text)
		}
		return true
	})
	return out
}
