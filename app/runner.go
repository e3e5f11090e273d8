package app

import (
	"crypto/tls"

	"github.com/weft-rl/weft/internal/run/part"
)

// machine is what a worker process carries out parts of runs with.
type machine struct {
	part.Runner
	Data  string // address of its data plane
	Close func() error
}

// machineOptions are what a machine is made of.
type machineOptions struct {
	Set    *Set
	Listen string      // address for the data plane
	TLS    *tls.Config // for the data plane; nil is for loopback alone
	Store  string      // where checkpoints are kept
}

// newMachine makes the machine of a worker process; tests have others.
var newMachine = func(o machineOptions) (machine, error) {
	r, node, err := o.Set.dataPlane(o.Listen, o.TLS, o.Store)
	if err != nil {
		return machine{}, err
	}
	return machine{Runner: r, Data: node.Address(), Close: node.Close}, nil
}
