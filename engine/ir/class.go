package ir

import (
	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/op"
)

// Elementwise reports whether element i of the output depends on element i of the operands alone.
func Elementwise(t compute.OpType) bool { return op.Of(t).Elementwise() }

// View reports whether the output of t has the very bytes of its first operand, in the same order.
func View(t compute.OpType) bool { return op.Of(t).View() }
