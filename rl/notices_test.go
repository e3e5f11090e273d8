package rl_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/rl"
)

func TestNotices(t *testing.T) {
	s := scope(t)
	s.Note("one")
	s.Note("two")
	if got := rl.System.TakeNotes(s); !slices.Equal(got, []string{"one", "two"}) || rl.System.TakeNotes(s) != nil {
		t.Errorf("notes %q", got)
	}
	s.Count("b", 1)
	s.Count("a", 2)
	s.Count("b", 3)
	if got := rl.System.Counts(s); !slices.Equal(got, []rl.Logged{{Name: "a", X: 2}, {Name: "b", X: 3}}) {
		t.Errorf("counts %v", got)
	}
}

// closer is a component that does not close well.
type closer struct {
	name  string
	order *[]string
}

func (closer) Axis() rl.Axis        { return rl.None }
func (closer) Save(*rl.State)       {}
func (closer) Load(*rl.State) error { return nil }

func (c closer) Close() error {
	*c.order = append(*c.order, c.name)
	return errors.New(c.name + " is stuck")
}

// What was made last is given back first, all of it, and once.
func TestScopeClose(t *testing.T) {
	s := scope(t)
	var order []string
	for _, name := range []string{"a", "b"} {
		s.Register(name, closer{name, &order})
	}
	err := s.Close()
	if err == nil || !strings.Contains(err.Error(), "a is stuck") || !strings.Contains(err.Error(), "b is stuck") {
		t.Errorf("error %v", err)
	}
	if err := s.Close(); err != nil || !slices.Equal(order, []string{"b", "a"}) {
		t.Errorf("closed %q, then %v", order, err)
	}
}

// A state without the episodes under way has forgotten their returns, and
// nothing else.
func TestRestarting(t *testing.T) {
	s := scope(t)
	s.Episodes().RecordKinds(0, 1, nil, [][]float64{{5, 7}}, []bool{true, false})
	st := rl.System.Restarting(rl.NewState(s))
	s.Episodes().Save(st.At("episodes"))
	again := scope(t)
	if err := again.Episodes().Load(st.At("episodes")); err != nil {
		t.Fatal(err)
	}
	again.Episodes().RecordKinds(0, 2, nil, [][]float64{{1, 1}}, []bool{true, true})
	if e := rl.System.TakeEpisodes(again.Episodes()); again.Episodes().Count() != 3 || e[1].Return != 1 || e[1].Length != 1 {
		t.Errorf("%d episodes, then %+v", again.Episodes().Count(), e)
	}
}
