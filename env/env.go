package env

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// Spec describes a batch of environments, as agents of one kind see it.
type Spec struct {
	ID          string
	Kind        string // kind of the agents, if there are several kinds
	Obs, Action rl.Space
	State       int  // numbers in Obs.State, for centralised critics; 0 is none
	Masked      bool // observations carry masks of the legal actions
	Mortal      bool // agents may be out of play before the episode is over: Obs.Alive says which
	Turns       bool // agents act one after another: Obs.Turn says whose turn it is
	ZeroSum     bool // what agents of one kind get adds up to 0: an episode's return is the first agent's
	Limit       int  // steps after which an episode is truncated; 0 is never
	Agents      int  // agents of this kind in each environment; 0 and 1 are one
	Block       int  // shards are multiples of this many environments; 0 is 1
	AutoReset   AutoReset
	Graph       bool   // dynamics are a graph function
	Exact       bool   // state can be saved and loaded, so that a run can resume exactly
	Why         string // why it is not Exact; may be empty

	Envs int // environments of the whole run
	//weft:own
	First int // global index of the first one of this batch
	//weft:own
	Rows int // environments of this batch
}

// AutoReset says how a batch goes on when an episode is over.
type AutoReset uint8

// The modes. Foreign environments have others; their adapters translate.
const (
	// SameStep: the step that ends an episode returns the first observation of
	// the next one as Obs, and the last one of the ended one as Final.
	SameStep AutoReset = iota
)

func (a AutoReset) String() string { return "same-step" }

// Batch is environments with one kind of agent, stepped together. It remembers
// its last observation, so that a loop needs no variable that survives an
// iteration.
//
//weft:component environments axis=environments home=environment alone
//weft:part episodes episodes axis=environments home=environment
type Batch interface {
	rl.Component
	//weft:pure
	Spec() Spec
	// Obs is the observation to act on; the first call resets.
	//
	//weft:op observe reads one rows shape=env
	Obs() rl.Obs
	// Step moves every environment by its row of action.
	//
	//weft:op step writes one rows state=episodes shape=env
	Step(action rl.Tree) rl.Step
}

// Groups is environments with several kinds of agents, stepped together: a Batch
// with one element for each kind, in the order of Spec.
//
//weft:component environments axis=environments home=environment alone
//weft:part episodes episodes axis=environments home=environment
type Groups interface {
	rl.Component
	//weft:pure
	Spec() []Spec
	// Obs returns the observations of each kind of agents; the first call resets the environments.
	//
	//weft:op observe reads one rows shape=env
	Obs() []rl.Obs
	// Step moves every environment by its rows of all kinds' actions. Over and
	// First are the same in every element.
	//
	//weft:op step writes one rows state=episodes shape=env
	Step(action []rl.Tree) []rl.Step
}

// Entry offers an environment under its id.
type Entry struct {
	ID  string
	Doc string // one line
	// Kind decides which settings an algorithm has for it that has none for its ID; it may be
	// empty.
	Kind Kind
	// Needs names the library that must be installed for it, such as MuJoCo; empty is none.
	Needs string
	// Options makes a pointer to the struct of the environment's settings, tagged
	// like an algorithm's configuration and with its defaults set; nil if it has
	// none.
	Options func() any
	// New makes n environments, or this replica's shard of them. options is a value that Options
	// made, with its fields set.
	New func(s *rl.Scope, n int, options any) (Batch, error)
	// NewGroups stands in New's place where there are several kinds of agents.
	NewGroups func(s *rl.Scope, n int, options any) (Groups, error)
	// SelfPlay makes environments of a game in which one agent moves for both seats, and is
	// rewarded by the return of the seat that has just moved; nil if the environment is no game of
	// two seats that move by turns.
	SelfPlay func(s *rl.Scope, n int, options any) (Batch, error)
}

// ErrNoSnapshot is why an environment cannot resume exactly.
var ErrNoSnapshot = errors.New("the environment cannot save its state")

// own fills in which environments of n a batch in s has.
func (s Spec) own(scope *rl.Scope, n int) Spec {
	s.Block = max(1, s.Block)
	s.Envs = n
	if n%s.Block == 0 && n/s.Block >= scope.Parts() { // else Check will say so
		lo, hi := scope.Own(n, s.Block)
		s.First, s.Rows = lo, hi-lo
	}
	return s
}

// agents returns how many agents there are.
func (s Spec) agents() int { return max(1, s.Agents) }

// Check returns all problems of a spec, joined into one error.
//
//weft:pure
func (s Spec) Check() error {
	var errs []error
	if s.ID == "" {
		errs = append(errs, errors.New("its spec has no ID"))
	}
	for _, x := range []struct {
		what  string
		space rl.Space
	}{{"observation", s.Obs}, {"action", s.Action}} {
		if x.space == nil || len(x.space.Leaves()) == 0 {
			errs = append(errs, fmt.Errorf("its spec has no %s space", x.what))
			continue
		}
		for _, l := range x.space.Leaves() {
			if err := checkSpace(l.Space); err != nil {
				errs = append(errs, fmt.Errorf("%s space %s: %w", x.what, l.Name, err))
			}
		}
	}
	for _, x := range []struct {
		what string
		n    int
	}{{"limit of %d steps", s.Limit}, {"number of agents, %d,", s.Agents}, {"size of state, %d,", s.State}} {
		if x.n < 0 {
			errs = append(errs, fmt.Errorf("its "+x.what+" is negative", x.n))
		}
	}
	if s.Block > 1 && s.Envs%s.Block != 0 {
		errs = append(errs, fmt.Errorf("%d environments are not a multiple of its block of %d", s.Envs, s.Block))
	}
	if s.Envs > 0 && s.Rows == 0 && s.Envs%max(1, s.Block) == 0 {
		errs = append(errs, fmt.Errorf("%d environments in blocks of %d are too few to give every replica some", s.Envs, max(1, s.Block)))
	}
	return errors.Join(errs...)
}

// checkKinds reports what is wrong with the specs of all kinds of agents.
func checkKinds(specs []Spec) error {
	if len(specs) == 0 {
		return errors.New("its spec has no agents")
	}
	var errs []error
	for i, s := range specs {
		if err := s.Check(); err != nil {
			errs = append(errs, inKind(s, err))
		}
		shared, first := s, specs[0]
		for _, x := range []*Spec{&shared, &first} { // what kinds may differ in
			x.Kind, x.Obs, x.Action, x.State, x.Masked, x.Mortal, x.Agents = "", nil, nil, 0, false, false, 0
		}
		if shared != first {
			errs = append(errs, fmt.Errorf("kinds of agents disagree about the environment's own properties: %+v and %+v", first, shared))
		}
		if len(specs) > 1 && s.Kind == "" {
			errs = append(errs, fmt.Errorf("kind %d of its agents has no name: set Kind", i))
		}
		if slices.ContainsFunc(specs[:i], func(t Spec) bool { return t.Kind == s.Kind }) {
			errs = append(errs, fmt.Errorf("two kinds of agents are called %q", s.Kind))
		}
	}
	return errors.Join(errs...)
}

// inKind says which kind of agents an error is about, where there are several.
func inKind(s Spec, err error) error {
	if s.Kind == "" {
		return err
	}
	return fmt.Errorf("kind %s: %w", s.Kind, err)
}

// checkSpace finds a simple space that holds nothing or has a wrong number of
// bounds.
func checkSpace(s rl.Space) error {
	switch s := s.(type) {
	case rl.Box:
		n := s.Shape().Size()
		for _, b := range [][]float64{s.Low, s.High} {
			if len(b) > 1 && len(b) != n {
				return fmt.Errorf("%d bounds for %d numbers: give one bound for all or one for each", len(b), n)
			}
		}
		for i := range n {
			if lo, hi := s.Bounds(i); !(lo <= hi) {
				return fmt.Errorf("number %d lies between %v and %v", i, lo, hi)
			}
		}
	case rl.Discrete, rl.MultiDiscrete, rl.MultiBinary:
		groups, _ := options(s)
		if len(groups) == 0 || slices.Min(groups) < 1 {
			return fmt.Errorf("%s has no value", s)
		}
	}
	return nil
}
