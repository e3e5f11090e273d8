package mujoco

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/mujoco/internal/mj"
	"github.com/weft-rl/weft/rl"
)

// Batch is environments of one task. Closing it ends its threads; one that is
// forgotten is closed by the garbage collector.
type Batch struct {
	task  task
	spec  env.Spec
	scope *rl.Scope
	key   rl.Key
	sims  *mj.Sims
	state []float64 // state of all simulations, in the library's memory
	rows  []sim
	width int

	time  int64 // steps taken
	age   []int32
	last  rl.Obs
	begun bool

	draws       draws
	fresh       []float64 // a first observation
	seen        []float64 // observations before any reset
	shown       []float32 // the same
	next        []float32 // after resets
	parts       []float64
	total       []float64 // rewards
	reward      []float32 // the same
	term, trunc []bool
	over, first []bool
	ended       []int32 // environments whose episodes are over
	film        *film   // nil without one
}

var _ env.Batch = (*Batch)(nil)

func newBatch(s *rl.Scope, n int, spec env.Spec, t task) (*Batch, error) {
	lo, hi := s.Own(n, 1)
	spec.Block, spec.Exact, spec.Envs, spec.First, spec.Rows = 1, true, n, lo, hi-lo
	b := &Batch{task: t, spec: spec, scope: s, key: s.Key("env").At(lo)}
	// One simulation shows what they are like. The others are made when they are
	// first looked at: a replica that only learns never does.
	if err := b.open(1, 1); err != nil {
		return nil, err
	}
	b.spec.Obs, b.spec.Action = rl.Box{Dims: []int{b.width}}, actionSpace(b.sims.CtrlRange)
	if err := b.spec.Check(); err != nil {
		return nil, errors.Join(err, b.sims.Close())
	}
	return b, nil
}

// open makes n simulations in place of those that there are.
func (b *Batch) open(n, threads int) (err error) {
	if b.sims != nil {
		err = b.sims.Close()
	}
	if err == nil {
		b.sims, err = open(b.task, n, threads)
	}
	if err != nil {
		return err
	}
	b.sims.First, b.state = b.spec.First, b.sims.State()
	if err := b.bind(); err != nil {
		return errors.Join(err, b.sims.Close())
	}
	return nil
}

// begin makes the simulations, and their first states.
func (b *Batch) begin() {
	threads := b.task.setup.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	b.must(b.open(b.spec.Rows, threads))
	b.begun = true
	for i := range b.rows {
		b.ended = append(b.ended, int32(i))
		b.first[i] = true
	}
	b.renew(b.key.Use("reset"))
	b.shoot()
	b.last = b.tensors(b.next)
}

// open makes simulations of a task.
func open(t task, n, threads int) (*mj.Sims, error) {
	path, err := mj.Library(t.setup.Library, t.setup.Python)
	if err != nil {
		return nil, err
	}
	lib, err := mj.Open(path)
	if err != nil {
		return nil, err
	}
	file := t.xml
	if !filepath.IsAbs(file) && !strings.HasPrefix(file, ".") {
		folder, err := mj.Models(t.setup.Models, t.setup.Python)
		if err != nil {
			return nil, err
		}
		file = filepath.Join(folder, file)
	}
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("there is no model %s: %s, or name the folder of the models with option models", file, mj.Install)
	}
	return lib.New(file, n, threads)
}

// bind makes a sim of each simulation, and the arrays of a step.
func (b *Batch) bind() error {
	n := b.sims.N
	b.rows = make([]sim, n)
	for i := range b.rows {
		b.rows[i] = sim{
			qpos: b.sims.Component(mj.Qpos, i), qvel: b.sims.Component(mj.Qvel, i), ctrl: b.sims.Component(mj.Ctrl, i),
			mass: b.sims.BodyMass, dt: b.sims.Timestep * float64(b.task.skip),
		}
		b.rows[i].weight = sum(0, len(b.sims.BodyMass), func(j int) float64 { return b.sims.BodyMass[j] })
	}
	if err := b.bindFields(); err != nil {
		return err
	}
	b.width = b.task.width(&b.rows[0])
	b.age, b.ended = make([]int32, n), make([]int32, 0, n)
	b.fresh, b.seen = make([]float64, b.width), make([]float64, n*b.width)
	b.shown, b.next = make([]float32, n*b.width), make([]float32, n*b.width)
	b.parts, b.total, b.reward = make([]float64, n*len(b.task.parts)), make([]float64, n), make([]float32, n)
	b.term, b.trunc, b.over, b.first = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
	return nil
}

// bindFields finds the derived fields and the bodies that the task reads.
func (b *Batch) bindFields() error {
	for _, f := range b.task.reads {
		out := b.sims.Output(fieldNames[f])
		if out == nil {
			return fmt.Errorf("model %s has no %s", b.task.xml, fieldNames[f])
		}
		w := len(out) / b.sims.N
		for i := range b.rows {
			b.rows[i].derived[f] = out[i*w : (i+1)*w]
		}
	}
	for _, name := range b.task.bodies {
		id, err := strconv.Atoi(name)
		if err != nil {
			id = b.sims.Body(name)
		}
		if id < 0 || id >= len(b.sims.BodyMass) {
			return fmt.Errorf("model %s has no body %q", b.task.xml, name)
		}
		for i := range b.rows {
			b.rows[i].bodies = append(b.rows[i].bodies, b.rows[i].derived[xpos][3*id:3*id+3])
		}
	}
	return nil
}

// actionSpace returns the actuators' range of control.
func actionSpace(ctrl []float64) rl.Box {
	box := rl.Box{Dims: []int{len(ctrl) / 2}}
	for i := 0; i < len(ctrl); i += 2 {
		box.Low = append(box.Low, float64(float32(ctrl[i])))
		box.High = append(box.High, float64(float32(ctrl[i+1])))
	}
	return box
}

// Spec describes the batch.
func (b *Batch) Spec() env.Spec { return b.spec }

// Obs returns the observation to act on.
func (b *Batch) Obs() rl.Obs {
	if b.rows == nil {
		rl.Failf("environment %s: it was closed", b.spec.ID)
	}
	if !b.begun {
		b.begin()
	}
	return b.last
}

// Step moves every environment by its row of action.
func (b *Batch) Step(action rl.Tree) rl.Step {
	b.Obs()
	b.advance(rl.Read[float32](action.At(0)))
	n := b.spec.Rows
	b.last = b.tensors(b.next)
	out := rl.Step{
		Obs: b.last, Final: b.last, Reward: rl.FromFlat(b.scope, b.reward, n),
		Terminated: rl.FromFlat(b.scope, b.term, n), Truncated: rl.FromFlat(b.scope, b.trunc, n), Over: rl.FromFlat(b.scope, b.over, n),
	}
	if len(b.ended) > 0 {
		clear(b.first)
		out.Final = b.tensors(b.shown)
	}
	return out
}

// tensors returns an observation, with what is now in first.
func (b *Batch) tensors(obs []float32) rl.Obs {
	n := b.spec.Rows
	return rl.Obs{X: rl.One(rl.FromFlat(b.scope, obs, n, b.width)), First: rl.FromFlat(b.scope, b.first, n)}
}

// advance takes a step without making its tensors: nothing in it allocates.
func (b *Batch) advance(action []float32) {
	b.time++
	nu := len(b.rows[0].ctrl)
	for i := range b.rows {
		s := &b.rows[i]
		s.action, s.last = action[i*nu:(i+1)*nu], s.x
		for j, a := range s.action {
			s.ctrl[j] = float64(a)
		}
	}
	b.must(b.sims.Step(b.task.skip))
	if b.task.forces {
		b.must(b.sims.Forces())
	}
	b.ended = b.ended[:0]
	for i := range b.rows {
		b.judge(i)
	}
	b.shoot()
	copy(b.next, b.shown)
	b.renew(b.key.Fold(uint64(b.time)).Use("renew"))
}

// judge writes what environment i shows and earns after a step.
func (b *Batch) judge(i int) {
	s, k := &b.rows[i], len(b.task.parts)
	if b.task.place != nil {
		s.x = b.task.place(s)
	}
	b.show(i, b.seen[i*b.width:(i+1)*b.width], b.shown)
	reward, terminated := b.task.score(s, b.parts[i*k:(i+1)*k])
	b.age[i]++
	b.total[i], b.reward[i] = reward, float32(reward)
	b.term[i], b.trunc[i] = terminated, int(b.age[i]) >= b.spec.Limit
	b.over[i] = b.term[i] || b.trunc[i]
	b.first[i] = b.over[i]
	if b.over[i] {
		b.ended = append(b.ended, int32(i))
	}
}

// show writes environment i's observation to its row of all, by way of one.
func (b *Batch) show(i int, one []float64, all []float32) {
	b.task.write(&b.rows[i], one)
	row := all[i*b.width : (i+1)*b.width]
	for j, x := range one {
		row[j] = float32(x)
	}
}

// renew begins new episodes where they have ended.
func (b *Batch) renew(k rl.Key) {
	if len(b.ended) == 0 {
		return
	}
	b.must(b.sims.Reset(b.ended))
	for _, i := range b.ended {
		b.draws = draws{key: k, row: int(i)}
		b.task.start(&b.rows[i], &b.draws)
	}
	b.settle(b.ended)
}

// settle derives the rest of the states of some simulations, and shows them.
func (b *Batch) settle(ids []int32) {
	b.must(b.sims.Forward(ids))
	for _, i := range ids {
		b.age[i] = 0
		if b.task.place != nil {
			b.rows[i].x = b.task.place(&b.rows[i])
		}
		b.show(int(i), b.fresh, b.next)
	}
}

// must stops the run with what the library says.
func (b *Batch) must(err error) {
	if err != nil {
		rl.Failf("environment %s: %w", b.spec.ID, err)
	}
}

// SetLimit implements env.Limiter.
func (b *Batch) SetLimit(n int) { b.spec.Limit = n }

// Source implements env.Sourced.
func (b *Batch) Source() string {
	return fmt.Sprintf("MuJoCo %s, %s", b.sims.Lib.Version, b.sims.Lib.Path)
}

// Qpos returns a copy of an environment's generalised positions, which are enough to
// draw it; row counts within the batch.
func (b *Batch) Qpos(row int) []float64 {
	defer runtime.KeepAlive(b)
	b.Obs()
	return slices.Clone(b.rows[row].qpos)
}

// Parts returns the reward's parts of the last step, environment by environment, and
// their names.
func (b *Batch) Parts() (names []string, values []float64) { return b.task.parts, b.parts }

// Close ends the threads and frees the simulations.
func (b *Batch) Close() error {
	b.rows, b.state = nil, nil
	if b.film != nil {
		return errors.Join(b.film.sims.Close(), b.sims.Close())
	}
	return b.sims.Close()
}

// Axis returns the environments'.
func (b *Batch) Axis() rl.Axis { return rl.Envs }

// Save keeps the whole state of the simulations. Where one is, is kept besides:
// some tasks take it from fields that lag a substep behind their state.
func (b *Batch) Save(s *rl.State) {
	b.Obs()
	rl.PutSlice(s, "library", []byte(b.sims.Lib.Version))
	rl.PutSlice(s, "time", []int64{b.time})
	rl.PutRowSlice(s, "age", b.age)
	rl.PutRowTable(s, "state", len(b.rows), b.state)
	x := make([]float64, len(b.rows))
	for i := range x {
		x[i] = b.rows[i].x
	}
	rl.PutRowSlice(s, "place", x)
	s.PutRows("obs", b.last.X.At(0))
	s.PutRows("first", b.last.First)
}

// Load takes a saved state over.
func (b *Batch) Load(s *rl.State) error {
	b.Obs()
	if saved := rl.GetSlice[byte](s, "library"); s.Err() == nil && string(saved) != b.sims.Lib.Version {
		return fmt.Errorf("its state was saved by MuJoCo %s, and this is %s: set WEFT_MUJOCO to a library of that version", saved, b.Source())
	}
	time, age := rl.GetSliceN[int64](s, "time", 1), rl.GetRowSliceN[int32](s, "age", len(b.age))
	state, x := rl.GetRowSliceN[float64](s, "state", len(b.state)), rl.GetRowSliceN[float64](s, "place", len(b.rows))
	obs, first := s.GetRows("obs", b.last.X.At(0)), s.GetRows("first", b.last.First)
	if s.Err() != nil {
		return s.Err()
	}
	b.time, b.age, b.last = time[0], age, rl.Obs{X: rl.One(obs), First: first}
	copy(b.state, state)
	for i := range x {
		b.rows[i].x = x[i]
	}
	return nil
}
