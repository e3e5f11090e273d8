// Package profile holds where the time of a run went: for every replica its operations, what it did
// at its edges, and whom it waited for.
//
// A Profile is plain data. Make puts it together from what timing's recorders of all replicas added
// up, and takes the cost of recording out again. Check finds profiles that do not add up; Print,
// SVG and Trace show one; Findings says what bounds the run and what would help.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/plan"
)

// Version is that of the JSON form.
const Version = 1

// Profile is where the time of a run went. Times are in seconds, over all iterations that were
// recorded.
type Profile struct {
	Version   int         `json:"version"`
	Algorithm string      `json:"algorithm,omitempty"`
	Env       string      `json:"env,omitempty"`
	Policy    string      `json:"policy"`
	Async     bool        `json:"async,omitempty"`
	Edges     []plan.Edge `json:"edges,omitempty"` // of the plan; a replica's are by their numbers
	Replicas  []Replica   `json:"replicas"`        // by number
	Overhead  Overhead    `json:"overhead"`
}

// Replica is how one replica spent its time. Seconds is all of it: Operations, the edges' Copying,
// Sending and Waits, Meeting and Other add up to it.
type Replica struct {
	Group      string      `json:"group"`
	Rank       int         `json:"rank"`
	Worker     int         `json:"worker"`
	Host       string      `json:"host,omitempty"`
	Cores      int         `json:"cores"` // cores of the process, which its replicas share
	Iterations int64       `json:"iterations"`
	Seconds    float64     `json:"seconds"`
	Operations []Operation `json:"operations"`
	Edges      []Edge      `json:"edges,omitempty"`
	Meeting    []Wait      `json:"meeting,omitempty"` // waiting at the end of iterations
	Other      float64     `json:"other"`             // Go code of the loop between operations, and the runtime
	Spans      []Span      `json:"spans,omitempty"`
}

// Operation is one operation of a component.
type Operation struct {
	Class   Class   `json:"class"`
	Name    string  `json:"name"`
	Calls   int64   `json:"calls"`
	Seconds float64 `json:"seconds"`
}

// Edge is a replica's end of an edge.
type Edge struct {
	Edge    int     `json:"edge"` // number in the profile's Edges
	Sent    int64   `json:"sent,omitempty"`
	Taken   int64   `json:"taken,omitempty"`
	Bytes   int64   `json:"bytes,omitempty"`
	Copying float64 `json:"copying"` // putting rows together and apart
	Sending float64 `json:"sending"` // until messages were queued, with waiting for room
	Waits   []Wait  `json:"waits,omitempty"`
}

// Wait is time that a replica waited for another one.
type Wait struct {
	For     int     `json:"for"` // number of the replica; -1 is whoever comes first
	Seconds float64 `json:"seconds"`
}

// Span is one stretch of a replica's newest work, for the timeline.
type Span struct {
	Name    string  `json:"name"`
	Class   Class   `json:"class"`
	Begin   int64   `json:"begin"`   // nanoseconds since 1970
	Seconds float64 `json:"seconds"` // with what happened inside
}

// Overhead is the cost of recording. It is taken out of all other times.
type Overhead struct {
	PerEvent time.Duration `json:"per_event"` // nanoseconds
	Events   int64         `json:"events"`    // of all replicas
	Seconds  float64       `json:"seconds"`   // of all replicas
	Part     float64       `json:"part"`      // largest part of any replica's time
}

// Class is a purpose of operations.
type Class string

// The classes, in the order of tables.
const (
	Environment Class = "environment"
	Inference   Class = "inference"
	Gradient    Class = "gradient"
	Application Class = "application"
	Replay      Class = "replay"
	Statistics  Class = "statistics"
	Fused       Class = "graph"   // a part of the program that is one graph
	Device      Class = "program" // the whole loop as one device program
	Edges       Class = "edges"   // copying and sending
	Waiting     Class = "waiting"
	Rest        Class = "other"
)

// Classes are all of them.
var Classes = []Class{Environment, Inference, Gradient, Application, Replay, Statistics, Fused, Device, Edges, Waiting, Rest}

// classes lists the classes of operations by the beginning of their kind; the first that fits
// counts.
var classes = []struct {
	kind string
	Class
}{
	{"env.", Environment}, {"rl.Func.", Inference}, {"rl.Loss.", Gradient}, {"rl.Opt.", Application}, {"rl.Params.", Application},
	{"replay.", Replay}, {"data.", Replay}, {"rl.Slots.", Replay}, {"rl.Run.Fused", Fused}, {timing.DeviceProgram, Device},
}

// ClassOf returns the class of a kind of operations.
func ClassOf(kind string) Class {
	for _, c := range classes {
		if strings.HasPrefix(kind, c.kind) {
			return c.Class
		}
	}
	return Statistics
}

// Make returns the profile of a run of a plan. Tallies are its replicas', by number; cost is that
// of recording.
func Make(p plan.Plan, tallies []timing.Tally, cost timing.Cost) *Profile {
	out := &Profile{Version: Version, Policy: p.Policy, Async: p.Async, Edges: p.Edges, Overhead: Overhead{PerEvent: cost.Pair}}
	if out.Policy == "" {
		out.Policy = "plain"
	}
	at := []plan.Replica{{Group: "loop"}}
	if len(p.Groups) > 0 {
		at = ordered(p)
	} else {
		out.Edges = nil
	}
	for i, t := range tallies {
		r := Replica{Group: at[i].Group, Rank: at[i].Rank, Worker: at[i].Worker, Host: t.Host, Cores: t.Cores, Iterations: t.Iterations}
		r.fill(t, len(out.Edges), cost)
		r.Spans = spans(t, out.Edges)
		out.Replicas = append(out.Replicas, r)
		spent := float64(t.Events) * cost.Pair.Seconds()
		out.Overhead.Events += t.Events
		out.Overhead.Seconds += spent
		if t.Wall > 0 {
			out.Overhead.Part = max(out.Overhead.Part, spent/seconds(t.Wall))
		}
	}
	return out
}

// ordered returns the replicas of a plan by number: by group, then by rank.
func ordered(p plan.Plan) (out []plan.Replica) {
	for _, g := range p.Groups {
		out = append(out, p.Of(g.Name)...)
	}
	return out
}

func seconds(nanos int64) float64 { return float64(nanos) * 1e-9 }

// fill takes over what a replica's recorder added up, less the cost of recording.
func (r *Replica) fill(t timing.Tally, edges int, cost timing.Cost) {
	r.Seconds = max(0, seconds(t.Wall)-float64(t.Events)*cost.Pair.Seconds())
	r.Other = r.Seconds
	less := func(nanos, events int64) float64 {
		s := max(0, seconds(nanos)-float64(events)*cost.Inside.Seconds())
		r.Other -= s
		return s
	}
	for _, o := range t.Operations {
		if o.Count > 0 {
			r.Operations = append(r.Operations, Operation{ClassOf(o.Kind), name(o), o.Count, less(o.Nanos, o.Count)})
		}
	}
	for i, e := range t.Edges {
		var waits []Wait
		for _, w := range e.Waits {
			waits = append(waits, Wait{w.Peer, less(w.Nanos, 0)})
		}
		if i >= edges {
			r.Meeting = append(r.Meeting, waits...)
			continue
		}
		if e.Operators > 0 || e.Sent > 0 || e.Taken > 0 {
			r.Edges = append(r.Edges, Edge{
				Edge: i, Sent: e.Sent, Taken: e.Taken, Bytes: e.Bytes, Copying: less(e.Handling, e.Operators), Sending: less(e.Sending, 0), Waits: waits,
			})
		}
	}
	if r.Other < 0 { // recording seemed to cost more than it did
		r.Seconds, r.Other = r.Seconds-r.Other, 0
	}
}

// name returns how an operation is shown: its component and its method.
func name(o timing.Operation) string {
	kind := o.Kind[strings.LastIndexByte(o.Kind, '.')+1:]
	switch {
	case o.Name == "":
		return strings.ToLower(kind)
	case ClassOf(o.Kind) == Fused:
		return o.Name
	}
	return o.Name + " " + strings.ToLower(kind)
}

// spans names a replica's newest stretches.
func spans(t timing.Tally, edges []plan.Edge) (out []Span) {
	for _, s := range t.Spans {
		x := Span{Begin: s.Begin, Seconds: seconds(s.Nanos), Class: Edges}
		switch at := int(-1 - s.What); {
		case s.What >= 0:
			x.Class, x.Name = ClassOf(t.Operations[s.What].Kind), name(t.Operations[s.What])
		case at < len(edges):
			x.Name = edges[at].Name
		default:
			x.Name = "end of the iteration"
		}
		if s.Wait {
			x.Class = Waiting
		}
		out = append(out, x)
	}
	return out
}

// JSON returns the profile as JSON.
func (p *Profile) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(p, "", " ")
	return append(text, '\n'), err
}

// Read reads a profile from JSON, and checks it.
func Read(text []byte) (*Profile, error) {
	var p Profile
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	return &p, p.Check()
}

// Check returns all problems of a profile, joined into one error.
func (p *Profile) Check() error {
	var errs []error
	if p.Version != Version {
		errs = append(errs, fmt.Errorf("the profile has version %d, this program reads %d", p.Version, Version))
	}
	if len(p.Replicas) == 0 {
		errs = append(errs, errors.New("the profile has no replica"))
	}
	for i, r := range p.Replicas {
		if r.Iterations < 1 {
			errs = append(errs, fmt.Errorf("%s recorded no iteration: the first %d are left out, so train for more", r, timing.Skip))
		}
		if sum := r.total(); math.Abs(sum-r.Seconds) > 1e-3+.01*r.Seconds {
			errs = append(errs, fmt.Errorf("%s has %.4g s in parts and %.4g s in all", r, sum, r.Seconds))
		}
		for _, e := range r.Edges {
			if e.Edge < 0 || e.Edge >= len(p.Edges) {
				errs = append(errs, fmt.Errorf("%s uses edge %d of %d", r, e.Edge, len(p.Edges)))
			}
		}
		for _, w := range r.waits() {
			if w.For == i || w.For < -1 || w.For >= len(p.Replicas) {
				errs = append(errs, fmt.Errorf("%s waits for replica %d of %d", r, w.For, len(p.Replicas)))
			}
		}
	}
	return errors.Join(errs...)
}

// String names the replica.
func (r Replica) String() string {
	if r.Group == "loop" {
		return "loop"
	}
	return fmt.Sprintf("%s %d", r.Group, r.Rank)
}

// By returns the replica's time by class.
func (r *Replica) By() map[Class]float64 {
	out := map[Class]float64{Rest: r.Other}
	for _, o := range r.Operations {
		out[o.Class] += o.Seconds
	}
	for _, e := range r.Edges {
		out[Edges] += e.Copying + e.Sending
	}
	for _, w := range r.waits() {
		out[Waiting] += w.Seconds
	}
	return out
}

func (r *Replica) total() (s float64) {
	for _, x := range r.By() {
		s += x
	}
	return s
}

// waits returns the replica's waits, at edges and at the end of iterations.
func (r *Replica) waits() (out []Wait) {
	for _, e := range r.Edges {
		out = append(out, e.Waits...)
	}
	return append(out, r.Meeting...)
}

// Busy returns the part of the replica's time that it did not wait.
func (r *Replica) Busy() float64 {
	if r.Seconds == 0 {
		return 0
	}
	return 1 - r.By()[Waiting]/r.Seconds
}

// longest returns the replica that is waited for longest, and for how long; -1 if none is.
func (r *Replica) longest() (best int, s float64) {
	by := map[int]float64{}
	for _, w := range r.waits() {
		by[w.For] += w.Seconds
	}
	best = -1
	for _, i := range sortedKeys(by) {
		if by[i] > s {
			best, s = i, by[i]
		}
	}
	return best, s
}

func sortedKeys(m map[int]float64) (out []int) {
	for i := range m {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}
