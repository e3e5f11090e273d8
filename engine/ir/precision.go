package ir

// Precision is how products of float32 take their operands. They add up and return float32 in any
// case.
type Precision int

const (
	// Exact takes operands as they are.
	Exact Precision = iota
	// TF32 may round them to TF32, which has float32's range and 10 bits behind the point, where a
	// device is faster that way.
	TF32
	// BF16 rounds them to bfloat16, which has float32's range and 7 bits behind the point.
	BF16
)

var precisions = [...]string{"float32", "tf32", "bf16"}

// String returns what users call it.
func (p Precision) String() string { return precisions[p] }
