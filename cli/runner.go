package cli

import (
	"crypto/tls"
	"errors"
	"time"

	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/tracing"
)

// machine carries out parts of runs in a worker process.
type machine struct {
	part.Runner
	Data  string // address of its data plane
	Guest string // address of the data plane of programs that runs bring; empty if it takes none
	Close func() error
}

// machineOptions configures a machine.
type machineOptions struct {
	Set    *request.Set
	Listen string // address for the data plane
	// Advertise is the address that others find it at, and then the only one: no socket
	// is a way around it. Empty is the one it listens on.
	Advertise string
	TLS       *tls.Config       // TLS of the data plane; nil is for loopback alone
	Store     string            // store of checkpoints
	Kept      store.Store       // the store itself; nil opens Store
	Allow     []string          // files and folders that submitted runs may name
	Log       func(string)      // called with every refusal
	Trace     *tracing.Exporter // sends traces of parts; nil is nobody
	Programs  *guestOptions     // nil takes no programs that runs bring
	Connect   time.Duration     // time after which a worker that does not answer is unreachable; 0 is the default
}

// store returns the store of checkpoints.
func (o machineOptions) store() (store.Store, error) {
	if o.Kept != nil {
		return o.Kept, nil
	}
	return store.Open(o.Store)
}

// newMachine makes the machine of a worker process; tests have others.
var newMachine = func(o machineOptions) (machine, error) {
	how := mesh.Options{TLS: o.TLS, Advertise: o.Advertise, NoSocket: o.Advertise != "", Connect: o.Connect, Log: o.Log}
	r, node, err := dataPlane(o, how)
	if err != nil {
		return machine{}, err
	}
	m := machine{Runner: r, Data: node.Address(), Close: node.Close}
	if o.Programs == nil {
		return m, nil
	}
	if err := m.host(o); err != nil {
		return m, errors.Join(err, node.Close())
	}
	return m, nil
}
