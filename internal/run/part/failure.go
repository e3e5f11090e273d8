package part

import "errors"

// Failure holds what the error of a part says of itself, beside its text.
type Failure struct {
	Text      string   `json:"text"`
	Permanent bool     `json:"permanent,omitempty"` // another attempt is no use
	Peer      bool     `json:"peer,omitempty"`      // it is about another process
	Node      bool     `json:"node,omitempty"`      // it is the machine's fault
	Program   bool     `json:"program,omitempty"`   // the machine cannot run the program that the run brought
	Unreached []string `json:"unreached,omitempty"` // workers to which no connection could be opened
	Broken    []string `json:"broken,omitempty"`    // workers whose connection broke
	Late      []string `json:"late,omitempty"`      // workers that had not built their parts in time
}

// FailureOf describes an error by the methods that errors of its chain have.
func FailureOf(err error) (f Failure) {
	f.Text = err.Error()
	var given failed
	if errors.As(err, &given) {
		f = given.is
		f.Text = err.Error()
		return f
	}
	var permanent interface{ Permanent() bool }
	f.Permanent = errors.As(err, &permanent) && permanent.Permanent()
	var peer interface{ Peer() bool }
	f.Peer = errors.As(err, &peer) && peer.Peer()
	var node interface{ Node() bool }
	f.Node = errors.As(err, &node) && node.Node()
	var away interface{ Unreached() []string }
	if errors.As(err, &away) {
		f.Unreached = away.Unreached()
	}
	var broken interface{ Broken() []string }
	if errors.As(err, &broken) {
		f.Broken = broken.Broken()
	}
	var late interface{ Late() []string }
	if errors.As(err, &late) {
		f.Late = late.Late()
	}
	return f
}

// Err returns the failure as an error, of which FailureOf returns the same.
func (f Failure) Err() error { return failed{f} }

type failed struct{ is Failure }

func (f failed) Error() string { return f.is.Text }
