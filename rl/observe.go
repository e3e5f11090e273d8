package rl

// Observer sees what a replica's loop does: where iterations begin, and what every
// operation of a component was given and made. Weft checks generated programs with
// it. An observer is called on the goroutine of the loop.
type Observer interface {
	// Next is called when an iteration begins. done is the number of iterations
	// before it.
	Next(done int64)
	// Operation is called after an operation on values. The tensors are for reading
	// only, and only until Operation returns: an optimiser reuses their memory.
	Operation(op Operation)
}

// Timer sees when the operations of a replica's loop begin and end, and nothing of what they are
// given and make. Weft profiles runs with it. A timer is called on the goroutine of the loop.
type Timer interface {
	// Next is called when an iteration begins. done is the number of iterations before it.
	Next(done int64)
	// Begin is called before an operation.
	Begin()
	// End is called after it. Its In and Out are empty.
	End(op Operation)
}

// Operation is one call of a component's method.
type Operation struct {
	Kind   string // method, as rl.Opt.Apply
	Name   string // name of the component, or of what is logged
	Number int    // number of a graph function or loss in the order of their declaration; 0 of others
	Size   int    // elements of the arguments' tensors, where a timer asks; 0 if it is not known
	Envs   Span   // the replica's environments; End sets it
	In     []Leaf // arguments
	Out    []Leaf // results, or the state that the operation wrote
}

// Leaf is a tensor with a name.
type Leaf struct {
	Name string
	Tensor
}

// NamedLeaves returns the tensors of v, named after its fields with prefix in front.
// Absent tensors are left out.
func NamedLeaves[T any](prefix string, v T) []Leaf { return present(prefix, LeafNames(v), Leaves(v)) }

// present gives tensors their names, and leaves out those that are absent.
func present(prefix string, names []string, leaves []Tensor) (out []Leaf) {
	for i, t := range leaves {
		if !t.Ok() {
			continue
		}
		name := prefix
		if names[i] != "" && prefix != "" {
			name += "."
		}
		out = append(out, Leaf{name + names[i], t})
	}
	return out
}

// Observe makes o the observer of the scope's operations. A scope has none unless
// it is given one, and operations then cost one comparison more.
func (system) Observe(s *Scope, o Observer) { s.observer = o }

// Time makes t the timer of the scope's operations. Without one, and without an observer, an
// operation costs one comparison more.
func (system) Time(s *Scope, t Timer) { s.timer = t }

// Observation is an operation under way. Operations that it makes in turn are part
// of it, and are not observed themselves.
type Observation struct{ scope *Scope }

// Observed begins the observation of an operation. It returns nil without an observer or a timer,
// inside another operation, and while the loop is compiled into a device program.
func (s *Scope) Observed() *Observation {
	if s == nil || s.observer == nil && s.timer == nil || s.observing || s.lower != nil {
		return nil
	}
	s.observing = true
	if s.timer != nil {
		s.timer.Begin()
	}
	s.observation.scope = s
	return &s.observation
}

// Values reports whether somebody looks at what the operation is given and makes. If not, the In
// and Out of its Operation may be left empty.
func (o *Observation) Values() bool { return o.scope.observer != nil }

// End tells the observer and the timer what the operation did.
func (o *Observation) End(op Operation) {
	s := o.scope
	s.observing = false
	op.Envs = s.Envs()
	if s.observer != nil {
		s.observer.Operation(op)
	}
	if s.timer != nil {
		op.In, op.Out = nil, nil
		s.timer.End(op)
	}
}
