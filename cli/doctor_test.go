package cli_test

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// Doctor says of everything whether it is there and, if it is not, what to do.
func TestDoctor(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("WEFT_PYTHON", "nopython")
	t.Setenv("WEFT_MUJOCO", "nowhere")
	all := events(t, do(t, 0, "doctor", "--json").out)
	state := map[string]string{}
	for _, e := range all {
		name, what := e["name"].(string), e["what"].(string)
		state[name] = e["state"].(string)
		if what == "" || state[name] != "ok" && e["do"] == nil {
			t.Errorf("%v does not say what to do", e)
		}
		if name == "python" {
			contains(t, what+e["do"].(string), "there is no nopython", "--python")
		}
	}
	for name, want := range map[string]string{"weft": "ok", "cpu": "ok", "disk": "ok", "python": "missing", "gymnasium": "missing", "mujoco": "missing"} {
		if state[name] != want {
			t.Errorf("%s is %q, want %q", name, state[name], want)
		}
	}
	contains(t, do(t, 0, "doctor").out, "python", "missing", "Weft works here.")
	do(t, 0, "doctor", "weft", "cpu")
	contains(t, do(t, 1, "doctor", "cpu", "python").out, "nopython")
	contains(t, do(t, 2, "doctor", "pyhton").errors, `unknown check "pyhton", did you mean "python"?`)
}

// A port in use is named, with the command that listens there.
func TestDoctorPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:8000")
	if err == nil { // else somebody else has it, which serves as well
		defer l.Close()
	}
	lines := strings.Split(do(t, 1, "doctor", "ports").out, "\n")
	if !slices.ContainsFunc(lines, func(s string) bool { return strings.Contains(s, "127.0.0.1:8000 (weft serve)") }) {
		t.Errorf("%q", lines)
	}
}
