package mesh

import (
	"testing"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/gate"
)

// TestRoles: every method that a node serves is for workers.
func TestRoles(t *testing.T) {
	n, err := Listen("127.0.0.1:0", Options{NoSocket: true})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	seen := 0
	for service, info := range n.server.GetServiceInfo() {
		for _, m := range info.Methods {
			seen++
			if r, ok := gate.RoleOf("/" + service + "/" + m.Name); !ok || r != certs.Work {
				t.Errorf("%s of %s takes the role %q: add it to the list of package gate", m.Name, service, r)
			}
		}
	}
	if seen == 0 {
		t.Error("a node serves nothing")
	}
}
