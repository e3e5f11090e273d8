package project

import (
	"fmt"
	"go/token"
	"slices"
)

// Problem is why a loop cannot be taken apart by a grouping.
type Problem struct {
	Pos     token.Position
	Message string
}

func (p Problem) Error() string { return fmt.Sprintf("%s: %s", p.Pos, p.Message) }

// findings collects problems, each once.
type findings struct{ list []Problem }

func (f *findings) add(pos token.Position, message string) {
	if p := (Problem{pos, message}); !slices.Contains(f.list, p) {
		f.list = append(f.list, p)
	}
}

func (f *findings) any() bool { return len(f.list) > 0 }
