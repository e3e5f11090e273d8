package kernel

import "fmt"

// Level names an implementation of the kernels. All levels give the same bits.
type Level uint8

// The levels, slowest first.
const (
	Go Level = iota
	AVX2
	AVX512
)

// String names the level.
func (l Level) String() string {
	names := [...]string{"go", "avx2", "avx512"}
	if int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("Level(%d)", uint8(l))
}

// table holds one implementation of every kernel. All slices given to a function in it have equal
// lengths.
type table struct {
	unary       [numUnary]func(dst, x []float32)
	binaryVV    [numBinary]func(dst, x, y []float32)
	binaryVS    [numBinary]func(dst, x []float32, y float32)
	binarySV    [numBinary]func(dst []float32, x float32, y []float32)
	bitsVV      [numBits]func(dst, x, y []uint32)
	bitsVS      [numBits]func(dst, x []uint32, y uint32)
	bitsSV      [numBits]func(dst []uint32, x uint32, y []uint32)
	compareVV   [numCompare]func(dst []bool, x, y []float32)
	compareVS   [numCompare]func(dst []bool, x []float32, y float32)
	addAct      [numUnary]func(dst, x, y []float32) // act(x+y) in one pass, where there is one
	selectVV    func(dst []float32, cond []bool, x, y []float32)
	selectVS    func(dst []float32, cond []bool, x []float32, y float32)
	selectSV    func(dst []float32, cond []bool, x float32, y []float32)
	intToFloat  func(dst []float32, x []int32)
	uintToFloat func(dst []float32, x []uint32)
	floatToInt  func(dst []int32, x []float32)
	boolToFloat func(dst []float32, x []bool)
	tanhGrad    func(dst, g, y []float32)
	reduce      [numReduce]func(x []float32) float32
	columns     [numReduce]func(dst, x []float32)
	short       int // longest row the short kernels take
	lanes       int
	reduceShort [numReduce]func(dst, x []float32, n int)
	argShort    [2]func(dst []int32, x []float32, n int)
	philox      func(dst *uint32, blocks int, c0, c1, c2, c3, k0, k1 uint32)
	argBest     func(x []float32, least bool) int
	copyRows    func(dst []float32, ldd int, src []float32, lds, m, n int)
	transpose   func(dst []float32, ldd int, x []float32, ldx, m, n int)
}

var (
	tables = makeTables()
	active = len(tables) - 1
	cur    = &tables[active]
)

func makeTables() []table {
	ts := make([]table, 1+numAsm())
	fillGo(&ts[Go])
	fillRestGo(&ts[Go])
	fillReduceGo(&ts[Go])
	fillAsm(ts)
	return ts
}

// Best returns the highest level this machine and build have.
func Best() Level { return Level(len(tables) - 1) }

// Active returns the level in use.
func Active() Level { return Level(active) }

// Use switches every kernel to a level, for tests. It must not run while a kernel does.
func Use(l Level) error {
	if l > Best() {
		return fmt.Errorf("kernel level %v is not available here; the best is %v", l, Best())
	}
	active, cur = int(l), &tables[l]
	return nil
}
