package nn

import "github.com/weft-rl/weft/rl"

// View shows observations to networks: standardised, or as they are.
type View struct {
	Sees  rl.Space  // space of what networks see
	space rl.Space  // space of observations
	norm  *rl.Stats // normaliser of observations; nil without normalisation
}

// View returns the view of observations of a space that the settings ask for. Its statistics are
// in scope under a name.
func (s Standard) View(scope *rl.Scope, name string, space rl.Space) View {
	v := View{Sees: s.Sees(space), space: space}
	if s.NormalizeObs {
		v.norm = rl.NewStats(scope, name, s.ClipObs, Width(space))
	}
	return v
}

// Know gives the statistics, if the view has any, numbers that are known beforehand: those of a
// data set, by its Normalise.
func (v View) Know(fill func(*rl.Stats) error) error {
	if v.norm == nil {
		return nil
	}
	return fill(v.norm)
}

// Of returns observations as networks see them.
func (v View) Of(c *rl.Ctx, obs rl.Obs) rl.Obs {
	if v.norm != nil {
		obs.X = rl.One(rl.Wrap(v.norm.Norm(c, Features(v.space, obs.X))))
	}
	return obs
}
