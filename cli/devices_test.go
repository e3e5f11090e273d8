package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/device"
)

// TestDevices: every device is listed, for people and for programs, and what
// cannot be used says why.
func TestDevices(t *testing.T) {
	text := do(t, 0, "devices").out
	lines := strings.Split(strings.TrimSpace(do(t, 0, "devices", "--json").out), "\n")
	for _, name := range []string{"cpu", "xla:cpu", "cuda", "go"} {
		if !strings.Contains(text, name) {
			t.Errorf("no %s in\n%s", name, text)
		}
	}
	for _, line := range lines {
		var d device.Info
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if d.Usable == (d.Why != "") || d.Name == "" || d.Doc == "" {
			t.Errorf("%+v", d)
		}
		if d.Name == device.Default && !d.Usable {
			t.Errorf("the default is not usable: %+v", d)
		}
	}
}
