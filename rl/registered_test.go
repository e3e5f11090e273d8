package rl_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/rl"
)

// count is an author's component.
type count struct{ n int64 }

func (c *count) Axis() rl.Axis    { return rl.None }
func (c *count) Save(s *rl.State) { rl.PutSlice(s, "n", []int64{c.n}) }
func (c *count) Load(s *rl.State) error {
	c.n = rl.GetSliceN[int64](s, "n", 1)[0]
	return s.Err()
}

// silent has nothing to save.
type silent struct{ count }

func (*silent) Save(*rl.State) {}

// keeper is a trainer that keeps components in every way.
type keeper struct {
	hidden *count
	Any    any
	List   []*count
	Fixed  [2]rl.Component
	By     map[string]*count
	Deep   *struct{ inner struct{ C rl.Component } }
	Net    *network // which is a component by what it embeds
	Self   *keeper
}

// network has parameters, and is a component by way of them.
type network struct{ *rl.Params }

func (h *keeper) Agent() rl.Agent     { return nil }
func (h *keeper) Train(*rl.Run) error { return nil }

// TestRegistered: a component is found wherever a trainer keeps it, and must be known
// to the trainer's scope.
func TestRegistered(t *testing.T) {
	for path, hold := range map[string]func(*keeper, *count){
		"trainer.hidden":       func(h *keeper, c *count) { h.hidden = c },
		"trainer.Any":          func(h *keeper, c *count) { h.Any = c },
		"trainer.Any[1]":       func(h *keeper, c *count) { h.Any = []any{2, c} },
		"trainer.List[1]":      func(h *keeper, c *count) { h.List = []*count{nil, c} },
		"trainer.Fixed[1]":     func(h *keeper, c *count) { h.Fixed[1] = c },
		"trainer.By[x]":        func(h *keeper, c *count) { h.By = map[string]*count{"x": c} },
		"trainer.Deep.inner.C": func(h *keeper, c *count) { h.Deep = &struct{ inner struct{ C rl.Component } }{}; h.Deep.inner.C = c },
	} {
		s := scope(t)
		h, c := &keeper{Net: &network{params(s, "net", 2, 1)}}, &count{}
		h.Self = h
		hold(h, c)
		err := rl.System.Registered(s, h)
		if err == nil || !strings.HasPrefix(err.Error(), path+", a component of type *rl_test.count, is not registered") {
			t.Errorf("%s: %v", path, err)
		}
		s = scope(t)
		h.Net = &network{params(s, "net", 2, 1)}
		s.Register("count", c)
		if err := rl.System.Registered(s, h); err != nil {
			t.Errorf("%s, registered: %v", path, err)
		}
	}
}

// TestRegisteredElsewhere: components of scopes beside the trainer's are not part of
// its state, and what saves nothing need not be.
func TestRegisteredElsewhere(t *testing.T) {
	s := scope(t)
	other := &count{}
	s.Beside("evaluation").Register("count", other)
	if err := rl.System.Registered(s, &keeper{hidden: other, Any: &silent{}}); err != nil {
		t.Error(err)
	}
	child := &count{}
	s.Child("aside").Register("count", child)
	if err := rl.System.Registered(s, &keeper{hidden: child}); err == nil {
		t.Error("a component of a child scope, which nobody saves, counts as registered")
	}
	foreign := params(scope(t), "net", 2, 1)
	for path, h := range map[string]*keeper{
		"trainer.Net.Params": {Net: &network{foreign}}, "trainer.Any[0]": {Any: []*rl.Params{foreign}},
	} {
		if err := rl.System.Registered(scope(t), h); err == nil || !strings.HasPrefix(err.Error(), path+", a component of type *rl.Params") {
			t.Errorf("%s is of another scope: %v", path, err)
		}
	}
}
