package runner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// Ask is one environment that a greedy action is asked for, checked and ready to be answered
// together with others.
type Ask struct {
	obs    []rl.Obs
	memory []rl.Tree
}

// Told is the answer to an Ask, by kind of agents: the action, and the memory to ask with next,
// both by leaf.
type Told struct {
	Actions []map[string][]float64
	Memory  []map[string][]float64
}

// Ask checks what is seen in an environment, with the memory that the last answer gave; nil is that
// at the start of an episode. It may be called by several goroutines at once.
func (p *Player) Ask(seen []Seen, memory []map[string][]float64) (a Ask, err error) {
	err = rl.Catch(func() (err error) {
		if a.obs, err = p.see(seen, memory == nil); err != nil {
			return err
		}
		a.memory = p.fresh()
		if memory == nil {
			return nil
		}
		if len(memory) != len(a.memory) {
			return fmt.Errorf("memory of %d kinds of agents, not of %d", len(memory), len(a.memory))
		}
		for i, given := range memory {
			if a.memory[i], err = p.remember(a.memory[i], given); err != nil {
				return err
			}
		}
		return nil
	})
	return a, err
}

// remember makes tensors of memory that has the form of like.
func (p *Player) remember(like rl.Tree, given map[string][]float64) (rl.Tree, error) {
	leaves := make([]rl.Tensor, like.Len())
	if len(given) != like.Len() {
		return like, fmt.Errorf("the memory has %d parts, not %d: give it as the last answer did", len(given), like.Len())
	}
	for i, name := range like.Names() {
		x, ok := given[name]
		if shape := like.At(i).Shape(); !ok || len(x) != shape.Size() {
			return like, fmt.Errorf("the memory %q has %d numbers, not %d: give it as the last answer did", name, len(x), shape.Size())
		}
		var err error
		if leaves[i], err = p.tensor(x, like.At(i).Shape()); err != nil {
			return like, err
		}
	}
	return rl.NewTree(like.Names(), leaves), nil
}

// Decide answers asks in one batch. Batches are filled up to a power of two, so that few sizes are
// compiled.
func (p *Player) Decide(asks []Ask) (told []Told, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.close == nil {
		return nil, errors.New("the agent is closed")
	}
	n := len(asks)
	size := 1
	for size < n {
		size *= 2
	}
	asks = append(slices.Clone(asks), slices.Repeat(asks[n-1:], size-n)...)
	told = make([]Told, n)
	err = rl.Catch(func() error {
		for i, agent := range p.team {
			one := make([]sight, size)
			for j, a := range asks {
				one[j] = sight{a.obs[i], a.memory[i]}
			}
			all := stacked(one)
			action, next := agent.Act(rl.Key{}, all.Obs, all.Memory, true)
			for j := range told {
				told[j].Actions = append(told[j].Actions, floatsOf(row(action, j)))
				told[j].Memory = append(told[j].Memory, floatsOf(row(next, j)))
			}
		}
		return nil
	})
	return told, err
}

// stacked returns rows as one batch.
func stacked(rows []sight) sight {
	all := make([][]rl.Tensor, len(rows))
	for i, r := range rows {
		all[i] = rl.Leaves(r)
	}
	out := make([]rl.Tensor, len(all[0]))
	for j, t := range all[0] {
		if !t.Ok() {
			continue
		}
		parts := make([]rl.Tensor, len(rows))
		for i := range all {
			parts[i] = all[i][j]
		}
		out[j] = rl.System.Concat(parts)
	}
	return rl.Rebuild(rows[0], out)
}

// row returns one row of a batch.
func row(t rl.Tree, i int) rl.Tree {
	return t.Map(func(x rl.Tensor) rl.Tensor { return rl.System.Part(x, i, i+1) })
}
