package app

import (
	"crypto/tls"
	"errors"

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

// newMachine makes the machine of a worker process.
var newMachine = func(machineOptions) (machine, error) {
	return machine{}, errors.New("this weft has no data plane: it can coordinate runs, but carry none out")
}
