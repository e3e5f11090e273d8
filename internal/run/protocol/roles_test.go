package protocol

import (
	"testing"

	"github.com/weft-rl/weft/internal/run/gate"
)

// TestRoles: every method that a coordinator serves takes a role.
func TestRoles(t *testing.T) {
	server := NewServer(&forgetful{}, gate.New(nil, nil))
	defer server.Stop()
	n := 0
	for service, info := range server.GetServiceInfo() {
		for _, m := range info.Methods {
			n++
			if _, ok := gate.RoleOf("/" + service + "/" + m.Name); !ok {
				t.Errorf("%s of %s takes no role, so that nobody may call it: add it to the list of package gate", m.Name, service)
			}
		}
	}
	if want := len(description.Methods) + len(description.Streams); n != want {
		t.Errorf("%d methods were looked at, want %d", n, want)
	}
}
