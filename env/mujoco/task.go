package mujoco

import (
	"math"

	"github.com/weft-rl/weft/rl"
)

// task is one environment as data.
type task struct {
	setup  Setup
	xml    string
	skip   int // substeps in a step
	camera camera

	reads  []field  // derived fields that it looks at
	bodies []string // bodies whose places it looks at, by name or number
	forces bool     // forces on bodies are to be computed after a step

	obs   []piece
	start func(s *sim, d *draws) // moves a simulation from the model's defaults to a first state
	place func(s *sim) float64   // position along the way forward; nil where nothing moves
	parts []string               // names of the reward's parts, as Gymnasium's info has them
	score func(s *sim, parts []float64) (reward float64, terminated bool)
}

// field is a derived array of MuJoCo's.
type field int

const (
	xpos field = iota
	xipos
	siteXpos
	cinert
	cvel
	qfrcActuator
	qfrcConstraint
	cfrcExt
	fields
)

var fieldNames = [fields]string{"xpos", "xipos", "site_xpos", "cinert", "cvel", "qfrc_actuator", "qfrc_constraint", "cfrc_ext"}

// sim is one simulation as a task sees it: the library's memory, made once.
type sim struct {
	qpos, qvel, ctrl []float64
	derived          [fields][]float64
	bodies           [][]float64 // places of the task's bodies
	mass             []float64   // masses of all bodies
	weight           float64     // their sum
	dt               float64     // seconds of a step

	action  []float32
	x, last float64    // place now and before the step
	scratch [3]float64 // result of the piece being computed
}

// piece is a part of an observation.
type piece struct {
	from func(*sim) []float64
	each func(float64) float64 // nil leaves the numbers as they are
}

// end stands for the length of an array.
const end = -1

func cut(x []float64, lo, hi int) []float64 {
	if hi == end {
		return x[lo:]
	}
	return x[lo:hi]
}

func positions(lo, hi int) func(*sim) []float64 {
	return func(s *sim) []float64 { return cut(s.qpos, lo, hi) }
}

func velocities(lo, hi int) func(*sim) []float64 {
	return func(s *sim) []float64 { return cut(s.qvel, lo, hi) }
}

func derived(f field, lo, hi int) func(*sim) []float64 {
	return func(s *sim) []float64 { return cut(s.derived[f], lo, hi) }
}

func body(i int) func(*sim) []float64 { return func(s *sim) []float64 { return s.bodies[i] } }

// motion returns the observation that most tasks have: positions but for the first
// ones, which say where it is, and velocities.
func motion(hidden int, exclude bool, speed func(float64) float64) []piece {
	if !exclude {
		hidden = 0
	}
	return []piece{{from: positions(hidden, end)}, {velocities(0, end), speed}}
}

// write writes the observation.
func (t *task) write(s *sim, obs []float64) {
	for _, p := range t.obs {
		x := p.from(s)
		n := copy(obs, x)
		if p.each != nil {
			for i, v := range x {
				obs[i] = p.each(v)
			}
		}
		obs = obs[n:]
	}
}

// width returns the numbers of an observation.
func (t *task) width(s *sim) (n int) {
	for _, p := range t.obs {
		n += len(p.from(s))
	}
	return n
}

// draws are the random numbers of one environment's reset.
type draws struct {
	key  rl.Key
	row  int
	next int
}

// unit draws uniformly from (0,1).
func (d *draws) unit() float64 {
	d.next++
	w := d.key.Bits(d.row, d.next/2)
	at := d.next % 2 * 2
	return (float64(uint64(w[at])<<20|uint64(w[at+1]>>12)) + .5) / (1 << 52)
}

// uniform draws between -x and x.
func (d *draws) uniform(x float64) float64 { return x * (2*d.unit() - 1) }

// normal has standard deviation x.
func (d *draws) normal(x float64) float64 {
	r := math.Sqrt(-2 * math.Log(d.unit()))
	return x * r * math.Cos(2*math.Pi*d.unit())
}

// shaken returns a start with noise on everything: uniform on positions, and the
// given kind on velocities.
func shaken(scale float64, speed func(*draws, float64) float64) func(*sim, *draws) {
	return func(s *sim, d *draws) {
		for i := range s.qpos {
			s.qpos[i] += d.uniform(scale)
		}
		for i := range s.qvel {
			s.qvel[i] += speed(d, scale)
		}
	}
}
