package rows

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// Loop is the work of one row in all rounds.
type Loop struct {
	Rows, Trips int
	Inputs      []*ir.Value // values read, of the function around the loop
	Before      []*ir.Node  // nodes computed before the loop, of whole tables: functions of what rounds take from them
	Results     []Result    // one for each output of the While node
}

// Result is an output of the loop.
type Result struct {
	Kind Kind
	// Start is the value before the first round, Init a state's as a row sees it.
	Start *ir.Value
	Init  *Node
	// Next is a value of a round: a state after it, an addend of a sum, or what it puts aside.
	Next *Node
	// Place is where the row's elements are in the output. What is put aside lies Step elements
	// further each round, what is kept Step elements for each of From.
	Place Place
	Step  int
	From  *Node // for Kept: slot of the first row, the same for all rows, from 0 to Most
	Most  int
	Value *ir.Value // the output's type
}

// Kind is a kind of output of a loop.
type Kind int

// The kinds of outputs.
const (
	Counter Kind = iota // the number of rounds
	State               // what every row hands on
	Common              // what all rows hand on alike: a scalar
	Sum                 // a scalar to which every row adds
	Aside               // what every row puts aside in every round
	Kept                // a table: in every round every row overwrites a slot, and nobody reads
)

// Place is where a row's elements are in memory, counted in elements: Offset, Row for each row, and
// Elems.
type Place struct {
	Offset, Row int
	Elems       []int
}

// Node is a vector of N elements that a row computes. Nodes that would compute the same are the
// same node.
type Node struct {
	ID   int
	Op   Op
	Type dtypes.DType
	N    int
	Args []*Node

	Map    compute.OpType // operation, for Map and Reduce
	Bits   []uint64       // bits by element, for Const
	From   []At           // sources by element, for Pick
	Groups [][]int        // elements of the operand that make each element, of Reduce and Best
	Least  bool           // Best seeks the smallest
	Input  int            // position in Inputs, of Load and Dot
	Place  Place          // place that Load reads
	Dyn    []Dyn          // what each operand adds to Load's place
	Weight Weight         // matrix of Dot
	State  int            // position in Results, of Carried
	Branch *Branch        // branch of Chosen
	Which  int            // position in the branch's outcomes, of Chosen
}

// Op is the operation of a node.
type Op int

// The operations.
const (
	Const   Op = iota
	Round      // the number of the round, int32
	Row        // the number of the row, int32
	Carried    // a state at the beginning of the round
	Load       // elements of an input
	Map        // an elementwise operation
	Pick       // elements of the operands, in any order
	Reduce     // groups of elements, each made one
	Best       // where in each group the greatest element is
	Dot        // a product with a matrix that all rows share
	Chosen     // an outcome of a branch
)

// At is an element of an operand.
type At struct{ Arg, Elem int }

// Dyn is how far an index moves a load: Stride elements for each, of indices from 0 to Most.
type Dyn struct{ Stride, Most int }

// Weight is the matrix of a product: element (i, j) lies at Offset + i*K + j*N.
type Weight struct{ Offset, K, N int }

// Branch is taken by each row for itself.
type Branch struct {
	Cond     *Node
	Outcomes []Outcome
}

// Outcome is a value that a branch gives.
type Outcome struct{ Then, Else, Chosen *Node }

// Of writes a While node by row, or says why that cannot be done.
func Of(n *ir.Node) (l *Loop, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			err = r
		default:
			panic(r)
		}
	}()
	return newFinder(n).loop(), nil
}
