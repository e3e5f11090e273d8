package launch

import (
	"fmt"
	"reflect"
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

// TestAlone: the jobs of several seeds differ by their seed, and none changes another.
func TestAlone(t *testing.T) {
	j := Job{Name: "x", Args: []string{"--seed", Seed}, Run: "/runs/seed" + Seed, Seeds: []uint64{1, 2}}
	for _, seed := range j.Seeds {
		want := Job{Name: fmt.Sprintf("x-seed%d", seed), Args: []string{"--seed", fmt.Sprint(seed)}, Run: fmt.Sprintf("/runs/seed%d", seed)}
		if got := j.Alone(seed); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
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
