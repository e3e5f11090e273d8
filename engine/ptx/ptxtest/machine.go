// Package ptxtest runs kernels of package ptx where there is no GPU, and compares them with the CPU
// engine.
package ptxtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/engine/ptx"
)

// lanes are the threads of a warp.
const lanes = 32

// machine runs kernels of this package as a GPU would, warp after warp, so that they can be tested
// where there is none. It knows the instructions that are written here, and fails on a branch that
// threads of a warp take differently.
type machine struct {
	memory  [][]byte // contents, by parameter
	shared  []byte
	regs    [][lanes]uint64
	written []bool // registers that have been written
	block   int
	thread  int // number of the warp's first thread
	code    []instruction
	at      int // the next instruction
}

type instruction struct {
	guard *operand // predicate, nil for none
	not   bool
	name  []string // the parts of mad.lo.u64
	args  []operand
	to    int // where a branch goes, -1 for nowhere
	text  string
}

// operand names a value that an instruction reads or writes, and where the machine has it.
type operand struct {
	text   string
	reg    int    // its register, or that of an address; -1 for none
	number uint64 // an immediate, or what is added to an address
	narrow bool   // the register has 32 bits
}

var line = regexp.MustCompile(`^(?:@(!?)(%p\d+) )?([a-z0-9_.]+)(?: (.*))?;$`)

// assembler reads the text of a kernel.
type assembler struct {
	regs   map[string]int
	labels map[string]int
	code   []instruction
}

func assemble(text string) (*assembler, error) {
	a := &assembler{regs: map[string]int{}, labels: map[string]int{}}
	_, body, _ := strings.Cut(text, "{\n")
	for _, l := range strings.Split(strings.TrimSuffix(body, "}\n"), "\n") {
		if l == "" || strings.HasPrefix(l, ".") {
			continue
		}
		if name, ok := strings.CutSuffix(l, ":"); ok {
			a.labels[name] = len(a.code)
			continue
		}
		if err := a.instruction(l); err != nil {
			return nil, err
		}
	}
	for i := range a.code {
		if in := &a.code[i]; in.name[0] == "bra" {
			to, ok := a.labels[in.args[0].text]
			if !ok {
				return nil, fmt.Errorf("%s: no such label", in.text)
			}
			in.to = to
		}
	}
	return a, nil
}

func (a *assembler) instruction(l string) error {
	m := line.FindStringSubmatch(l)
	if m == nil {
		return fmt.Errorf("cannot read %q", l)
	}
	in := instruction{not: m[1] != "", name: strings.Split(m[3], "."), text: l, to: -1}
	if m[2] != "" {
		guard := a.operand(m[2])
		in.guard = &guard
	}
	for _, x := range strings.Split(strings.NewReplacer("{", "", "}", "").Replace(m[4]), ",") {
		in.args = append(in.args, a.operand(strings.TrimSpace(x)))
	}
	a.code = append(a.code, in)
	return nil
}

var immediateForm = regexp.MustCompile(`^0([fd])([0-9A-F]+)$`)

// operand reads one: a register, a number, or an address such as [%l3+8].
func (a *assembler) operand(text string) operand {
	o := operand{text: text, reg: -1}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		reg, offset, _ := strings.Cut(strings.TrimSuffix(inner, "]"), "+")
		o = a.operand(reg)
		o.text = text
		o.number = number(offset)
		return o
	}
	if strings.HasPrefix(text, "%") && !strings.Contains(text, ".x") {
		if _, ok := a.regs[text]; !ok {
			a.regs[text] = len(a.regs)
		}
		o.reg, o.narrow = a.regs[text], text[1] == 'f' || text[1] == 'r'
		return o
	}
	o.number = number(text)
	return o
}

// number returns the bits of an immediate, 0 for what is none.
func number(text string) uint64 {
	if f := immediateForm.FindStringSubmatch(text); f != nil {
		x, _ := strconv.ParseUint(f[2], 16, 64)
		return x
	}
	if x, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(x)
	}
	x, _ := strconv.ParseUint(text, 0, 64)
	return x
}

// Launch runs a kernel over its grid; memory is what its parameters point at, and of shared memory
// it has so many bytes.
func Launch(k ptx.Kernel, shared int, memory [][]byte) error {
	a, err := assemble(k.Text)
	if err != nil {
		return err
	}
	for block := range k.Grid {
		shared := make([]byte, shared)
		var warps []*machine
		for thread := 0; thread < k.Block; thread += lanes {
			warps = append(warps, &machine{memory: memory, shared: shared, regs: make([][lanes]uint64, len(a.regs)), written: make([]bool, len(a.regs)),
				block: block, thread: thread, code: a.code})
		}
		for done := 0; done < len(warps); { // from barrier to barrier
			done = 0
			for _, m := range warps {
				over, err := m.run()
				if err != nil {
					return fmt.Errorf("block %d, thread %d: %w", block, m.thread, err)
				}
				if over {
					done++
				}
			}
		}
	}
	return nil
}

// run goes on to the next barrier, or to the end.
func (m *machine) run() (over bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: %v", m.code[m.at].text, r)
		}
	}()
	for steps := 0; m.at < len(m.code); steps++ {
		if steps > 1<<22 {
			return false, errors.New("does not end")
		}
		in := &m.code[m.at]
		var active [lanes]bool
		n := 0
		for l := range active {
			active[l] = in.guard == nil || (m.value(in.guard, l) != 0) != in.not
			if active[l] {
				n++
			}
		}
		m.at++
		switch {
		case in.name[0] == "bar" && in.name[1] == "sync":
			return false, nil
		case in.name[0] != "bra" && in.name[0] != "ret":
			m.at--
			m.step(in, active)
			m.at++
		case n == 0:
		case n != lanes:
			return false, fmt.Errorf("%s: %d of the threads", in.text, n)
		case in.name[0] == "ret":
			m.at-- // and again, while others are not through
			return true, nil
		default:
			m.at = in.to
		}
	}
	return false, errors.New("runs off its end")
}

// value returns an operand's bits for a thread.
func (m *machine) value(o *operand, l int) uint64 {
	if o.reg >= 0 {
		if !m.written[o.reg] {
			panic(o.text + " is read before it is written")
		}
		return m.regs[o.reg][l]
	}
	switch o.text {
	case "%tid.x":
		return uint64(m.thread + l)
	case "%ctaid.x":
		return uint64(m.block)
	}
	return o.number // where shared memory begins, "stage", is 0
}

func (m *machine) set(o *operand, l int, x uint64) {
	if o.narrow {
		x = uint64(uint32(x))
	}
	m.written[o.reg] = true
	m.regs[o.reg][l] = x
}

// where returns the memory that an address means.
func (m *machine) where(o *operand, l int, shared bool) []byte {
	at := m.regs[o.reg][l] + o.number
	if !m.written[o.reg] {
		panic(o.text + " is read before it is written")
	}
	if shared {
		return m.shared[at:]
	}
	return m.memory[at>>40-1][at&(1<<40-1):]
}

var sizes = map[string]int{"u8": 1, "f32": 4, "u32": 4, "s32": 4, "b32": 4, "f64": 8, "u64": 8, "s64": 8, "b64": 8}

func (m *machine) step(in *instruction, active [lanes]bool) {
	switch in.name[0] {
	case "bar":
		return
	case "shfl":
		m.shuffle(in)
		return
	case "vote":
		m.vote(in)
		return
	case "mma":
		m.multiply(in)
		return
	case "ldmatrix":
		m.blocks(in)
		return
	}
	for l := range lanes {
		if active[l] {
			m.one(in, l)
		}
	}
}

// one does an instruction for one thread.
func (m *machine) one(in *instruction, l int) {
	name, last, args := in.name[0], in.name[len(in.name)-1], in.args
	switch {
	case name == "ld" && in.name[1] == "param":
		i, _ := strconv.Atoi(strings.Trim(args[1].text, "[]p"))
		m.set(&args[0], l, uint64(i+1)<<40)
	case name == "ld":
		size, from := sizes[last], m.where(&args[len(args)-1], l, in.name[1] == "shared")
		for i := range args[:len(args)-1] {
			m.set(&args[i], l, readBits(from[i*size:], size))
		}
	case name == "st":
		size, to := sizes[last], m.where(&args[0], l, in.name[1] == "shared")
		for i := range args[1:] {
			writeBits(to[i*size:], size, m.value(&args[1+i], l))
		}
	case name == "mov" && len(args) == 3:
		m.pair(in, l)
	default:
		var a [4]uint64
		for i := range args[1:] {
			a[i] = m.value(&args[1+i], l)
		}
		m.set(&args[0], l, calculate(in, a[:len(args)-1]))
	}
}

// pair splits 64 bits in two, or joins them.
func (m *machine) pair(in *instruction, l int) {
	a := in.args
	if a[0].narrow && a[1].narrow {
		x := m.value(&a[2], l)
		m.set(&a[0], l, x&math.MaxUint32)
		m.set(&a[1], l, x>>32)
		return
	}
	m.set(&a[0], l, m.value(&a[1], l)|m.value(&a[2], l)<<32)
}

func (m *machine) shuffle(in *instruction) {
	var from [lanes]uint64
	for l := range lanes {
		from[l] = m.value(&in.args[1], l)
	}
	for l := range lanes {
		which := int(m.value(&in.args[2], l))
		if in.name[2] == "bfly" {
			which ^= l
		}
		m.set(&in.args[0], l, from[which])
	}
}

// vote tells all threads whether any has a predicate.
func (m *machine) vote(in *instruction) {
	var any uint64
	for l := range lanes {
		any |= m.value(&in.args[1], l)
	}
	for l := range lanes {
		m.set(&in.args[0], l, any)
	}
}

func readBits(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func writeBits(b []byte, size int, x uint64) {
	switch size {
	case 1:
		b[0] = byte(x)
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(x))
	default:
		binary.LittleEndian.PutUint64(b, x)
	}
}

func calculate(in *instruction, a []uint64) uint64 {
	t := in.name[len(in.name)-1]
	switch in.name[0] {
	case "mov", "cvta":
		return a[0]
	case "selp":
		if a[2] != 0 {
			return a[0]
		}
		return a[1]
	case "setp":
		return flag(compared(in.name[1], t, a[0], a[1]))
	case "cvt":
		if in.name[2] == "bf16x2" {
			return bfloat16(a[0])<<16 | bfloat16(a[1])
		}
		return convert(in.name, a[0])
	case "and":
		return a[0] & a[1]
	case "or":
		return a[0] | a[1]
	case "xor":
		return a[0] ^ a[1]
	case "not":
		if t == "pred" {
			return 1 - a[0]
		}
		return ^a[0]
	}
	switch t {
	case "f32":
		x := make([]float32, len(a))
		for i, b := range a {
			x[i] = math.Float32frombits(uint32(b))
		}
		return uint64(math.Float32bits(single(in.name[0], x)))
	case "f64":
		x := make([]float64, len(a))
		for i, b := range a {
			x[i] = math.Float64frombits(b)
		}
		return math.Float64bits(doubled(in.name[0], x))
	}
	return whole(in.name, t, a)
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func single(name string, x []float32) float32 {
	switch name {
	case "fma":
		return float32(math.FMA(float64(x[0]), float64(x[1]), float64(x[2]))) // rounds twice, off by half a unit at most
	case "ex2":
		return float32(math.Exp2(float64(x[0])))
	case "copysign":
		return float32(math.Copysign(float64(x[1]), float64(x[0])))
	case "max":
		if x[0] > x[1] || x[1] != x[1] {
			return x[0]
		}
		return x[1]
	case "min":
		if x[0] < x[1] || x[1] != x[1] {
			return x[0]
		}
		return x[1]
	}
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return float32(doubled(name, y))
}

func doubled(name string, x []float64) float64 {
	switch name {
	case "add":
		return x[0] + x[1]
	case "sub":
		return x[0] - x[1]
	case "mul":
		return x[0] * x[1]
	case "div":
		return x[0] / x[1]
	case "neg":
		return -x[0]
	case "abs":
		return math.Abs(x[0])
	case "sqrt":
		return math.Sqrt(x[0])
	case "rcp":
		return 1 / x[0]
	case "fma":
		return math.FMA(x[0], x[1], x[2])
	case "max":
		return math.Max(x[0], x[1])
	case "min":
		return math.Min(x[0], x[1])
	}
	panic("unknown " + name)
}

func whole(name []string, t string, a []uint64) uint64 {
	signed := func(x uint64) int64 {
		switch t {
		case "s32":
			return int64(int32(x))
		case "u32", "b32":
			return int64(uint32(x))
		}
		return int64(x)
	}
	x := signed(a[0])
	y := int64(0)
	if len(a) > 1 {
		y = signed(a[1])
	}
	switch name[0] {
	case "add":
		return uint64(x + y)
	case "sub":
		return uint64(x - y)
	case "mul":
		return uint64(x * y)
	case "mad":
		return uint64(x*y) + a[2]
	case "div":
		return uint64(x / y)
	case "rem":
		return uint64(x % y)
	case "neg":
		return uint64(-x)
	case "abs":
		return uint64(max(x, -x))
	case "max":
		return uint64(max(x, y))
	case "min":
		return uint64(min(x, y))
	case "shr":
		return uint64(x >> min(y, 63))
	case "shl":
		return uint64(x) << uint64(y)
	}
	panic("unknown " + strings.Join(name, "."))
}

func compared(how, t string, a, b uint64) bool {
	var less, equal, odd bool
	switch t {
	case "f32", "f64":
		x, y := math.Float64frombits(a), math.Float64frombits(b)
		if t == "f32" {
			x, y = float64(math.Float32frombits(uint32(a))), float64(math.Float32frombits(uint32(b)))
		}
		less, equal, odd = x < y, x == y, x != x || y != y
	case "s32":
		less, equal = int32(a) < int32(b), int32(a) == int32(b)
	case "u32":
		less, equal = uint32(a) < uint32(b), uint32(a) == uint32(b)
	case "s64":
		less, equal = int64(a) < int64(b), a == b
	case "u64":
		less, equal = a < b, a == b
	default:
		panic("unknown type " + t)
	}
	switch how {
	case "eq":
		return equal
	case "ne", "neu":
		return !equal
	case "lt":
		return less
	case "ltu":
		return less || odd
	case "le":
		return less || equal
	case "gt":
		return !less && !equal && !odd
	case "ge":
		return !less && !odd
	case "nan":
		return odd
	case "num":
		return !odd
	}
	panic("unknown comparison " + how)
}

func convert(name []string, x uint64) uint64 {
	to, from := name[len(name)-2], name[len(name)-1]
	if to == "tf32" { // round to 10 bits, halves away from zero
		return (x + 1<<12) &^ (1<<13 - 1)
	}
	var f float64
	var i int64
	isFloat := from[0] == 'f'
	switch from {
	case "f32":
		f = float64(math.Float32frombits(uint32(x)))
	case "f64":
		f = math.Float64frombits(x)
	case "s32":
		i = int64(int32(x))
	case "u32":
		i = int64(uint32(x))
	default:
		i = int64(x)
	}
	if isFloat && len(name) == 4 {
		switch name[1] {
		case "rni":
			f = math.RoundToEven(f)
		case "rmi":
			f = math.Floor(f)
		case "rpi":
			f = math.Ceil(f)
		case "rzi":
			f = math.Trunc(f)
		}
	}
	if !isFloat {
		f = float64(i)
	}
	switch to {
	case "f32":
		return uint64(math.Float32bits(float32(f)))
	case "f64":
		return math.Float64bits(f)
	}
	if isFloat {
		i = int64(f)
	}
	return uint64(i)
}
