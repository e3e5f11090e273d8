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
	memory [][]byte // of each parameter
	shared []byte
	regs   map[string]*[lanes]uint64
	block  int
	thread int // of the warp's first thread
	code   []instruction
	labels map[string]int
	at     int // the next instruction
}

type instruction struct {
	guard string // predicate, "" for none
	not   bool
	name  []string // the parts of mad.lo.u64
	args  []string
	text  string
}

var line = regexp.MustCompile(`^(?:@(!?)(%p\d+) )?([a-z0-9_.]+)(?: (.*))?;$`)

func assemble(text string) (code []instruction, labels map[string]int, err error) {
	labels = map[string]int{}
	_, body, _ := strings.Cut(text, "{\n")
	for _, l := range strings.Split(strings.TrimSuffix(body, "}\n"), "\n") {
		if l == "" || strings.HasPrefix(l, ".") {
			continue
		}
		if name, ok := strings.CutSuffix(l, ":"); ok {
			labels[name] = len(code)
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			return nil, nil, fmt.Errorf("cannot read %q", l)
		}
		in := instruction{guard: m[2], not: m[1] != "", name: strings.Split(m[3], "."), text: l}
		for _, a := range strings.Split(strings.NewReplacer("{", "", "}", "").Replace(m[4]), ",") {
			in.args = append(in.args, strings.TrimSpace(a))
		}
		code = append(code, in)
	}
	return code, labels, nil
}

// Launch runs a kernel over its grid; memory is what its parameters point at, and of shared memory
// it has so many bytes.
func Launch(k ptx.Kernel, shared int, memory [][]byte) error {
	code, labels, err := assemble(k.Text)
	if err != nil {
		return err
	}
	for block := range k.Grid {
		shared := make([]byte, shared)
		var warps []*machine
		for thread := 0; thread < k.Block; thread += lanes {
			warps = append(warps, &machine{memory: memory, shared: shared, regs: map[string]*[lanes]uint64{}, block: block,
				thread: thread, code: code, labels: labels})
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
		in := m.code[m.at]
		var active [lanes]bool
		n := 0
		for l := range active {
			active[l] = in.guard == "" || (m.value(in.guard, l) != 0) != in.not
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
			to, ok := m.labels[in.args[0]]
			if !ok {
				return false, fmt.Errorf("%s: no such label", in.text)
			}
			m.at = to
		}
	}
	return false, errors.New("runs off its end")
}

var immediateForm = regexp.MustCompile(`^0([fd])([0-9A-F]+)$`)

// value returns an operand's bits for a thread.
func (m *machine) value(arg string, l int) uint64 {
	switch arg {
	case "%tid.x":
		return uint64(m.thread + l)
	case "%ctaid.x":
		return uint64(m.block)
	case "stage":
		return 0
	}
	if arg[0] == '%' {
		r := m.regs[arg]
		if r == nil {
			panic(arg + " is read before it is written")
		}
		return r[l]
	}
	if f := immediateForm.FindStringSubmatch(arg); f != nil {
		x, err := strconv.ParseUint(f[2], 16, 64)
		if err != nil {
			panic(err)
		}
		return x
	}
	if x, err := strconv.ParseInt(arg, 0, 64); err == nil {
		return uint64(x)
	}
	x, err := strconv.ParseUint(arg, 0, 64)
	if err != nil {
		panic(err)
	}
	return x
}

func (m *machine) set(reg string, l int, x uint64) {
	r := m.regs[reg]
	if r == nil {
		r = new([lanes]uint64)
		m.regs[reg] = r
	}
	if strings.HasPrefix(reg, "%f") || strings.HasPrefix(reg, "%r") {
		x = uint64(uint32(x))
	}
	r[l] = x
}

// where returns the memory that an operand such as [%l3+8] means.
func (m *machine) where(arg string, l int, shared bool) []byte {
	reg, offset, _ := strings.Cut(strings.Trim(arg, "[]"), "+")
	at := m.value(reg, l)
	if offset != "" {
		at += m.value(offset, l)
	}
	if shared {
		return m.shared[at:]
	}
	return m.memory[at>>40-1][at&(1<<40-1):]
}

var sizes = map[string]int{"u8": 1, "f32": 4, "u32": 4, "s32": 4, "b32": 4, "f64": 8, "u64": 8, "s64": 8, "b64": 8}

func (m *machine) step(in instruction, active [lanes]bool) {
	name, last := in.name[0], in.name[len(in.name)-1]
	switch name {
	case "bar":
		return
	case "shfl":
		m.shuffle(in)
		return
	case "mma":
		m.multiply(in)
		return
	case "ldmatrix":
		m.blocks(in)
		return
	}
	for l := range lanes {
		if !active[l] {
			continue
		}
		switch {
		case name == "ld" && in.name[1] == "param":
			i, _ := strconv.Atoi(strings.Trim(in.args[1], "[]p"))
			m.set(in.args[0], l, uint64(i+1)<<40)
		case name == "ld":
			regs, address := in.args[:len(in.args)-1], in.args[len(in.args)-1]
			for i, r := range regs {
				b := m.where(address, l, in.name[1] == "shared")[i*sizes[last]:]
				m.set(r, l, readBits(b, sizes[last]))
			}
		case name == "st":
			for i, x := range in.args[1:] {
				writeBits(m.where(in.args[0], l, in.name[1] == "shared")[i*sizes[last]:], sizes[last], m.value(x, l))
			}
		case name == "mov" && len(in.args) == 3:
			m.pair(in, l)
		default:
			var a []uint64
			for _, x := range in.args[1:] {
				a = append(a, m.value(x, l))
			}
			m.set(in.args[0], l, calculate(in, a))
		}
	}
}

// pair splits 64 bits in two, or joins them.
func (m *machine) pair(in instruction, l int) {
	if strings.HasPrefix(in.args[0], "%r") && strings.HasPrefix(in.args[1], "%r") {
		x := m.value(in.args[2], l)
		m.set(in.args[0], l, x&math.MaxUint32)
		m.set(in.args[1], l, x>>32)
		return
	}
	m.set(in.args[0], l, m.value(in.args[1], l)|m.value(in.args[2], l)<<32)
}

func (m *machine) shuffle(in instruction) {
	var from [lanes]uint64
	for l := range lanes {
		from[l] = m.value(in.args[1], l)
	}
	for l := range lanes {
		which := int(m.value(in.args[2], l))
		if in.name[2] == "bfly" {
			which ^= l
		}
		m.set(in.args[0], l, from[which])
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

func calculate(in instruction, a []uint64) uint64 {
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
