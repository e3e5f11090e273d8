package launch

import (
	"slices"
	"testing"
)

func TestCommand(t *testing.T) {
	s := Spec{Program: "weft"}
	for _, c := range []struct {
		task Task
		want []string
	}{
		{Task{Args: []string{"coordinator", "--listen", Listen}}, []string{"weft", "coordinator", "--listen", "here:1"}},
		{Task{Wrap: []string{"ip", "netns", "exec", "n"}, Args: []string{"worker", "--join=" + Join}}, []string{"ip", "netns", "exec", "n", "weft", "worker", "--join=there:2"}},
	} {
		if got := s.Command(c.task, "here:1", "there:2"); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestListening(t *testing.T) {
	for line, want := range map[string]string{
		`{"event":"listening","address":"here:1"}`: "here:1",
		`{"event":"note","address":"here:1"}`:      "",
		`{"event":"listening","address":1}`:        "",
		`coordinator at here:1`:                    "",
	} {
		if got, ok := ReadListening(line); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", line, got, ok)
		}
	}
}
