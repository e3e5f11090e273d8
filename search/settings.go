package search

import "fmt"

// Settings are the settings of a search, for an algorithm to embed.
type Settings struct {
	Search      string `default:"puct" oneof:"puct gumbel" doc:"rule by which the tree is searched: puct follows prior and values, gumbel halves a sample of the actions"`
	Simulations int    `default:"40" unit:"simulations" range:"[1,)" doc:"simulations of a search, each a call of the network"`
	Normalise   bool   `default:"false" doc:"map the values of a tree to 0..1 by the least and the greatest in it; for returns of unknown size"`

	Explore     float64 `default:"1.25" range:"[0,)" doc:"puct: weight of the prior against the values"`
	ExploreBase float64 `default:"19652" range:"[1,)" unit:"visits" doc:"puct: visits of a node at which the weight of the prior begins to grow"`
	NoiseWeight float64 `default:"0.25" range:"[0,1]" doc:"puct: part of the root's prior that is Dirichlet noise in self-play"`
	NoiseAlpha  float64 `default:"0.3" range:"(0,)" doc:"puct: concentration of that noise; about 10 divided by the number of legal actions"`

	Considered  int     `default:"16" unit:"actions" range:"[1,)" doc:"gumbel: actions that are considered at the root, at most"`
	GumbelScale float64 `default:"1" range:"[0,)" doc:"gumbel: size of the noise by which considered actions are drawn; 0 takes the likeliest"`
	ValueScale  float64 `default:"0.1" range:"(0,)" doc:"gumbel: weight of values against the logarithm of the prior"`
	VisitOffset float64 `default:"50" unit:"visits" range:"[0,)" doc:"gumbel: added to the visits of the most visited action, by which the weight of values grows"`
}

// Quiet returns the settings without noise at the root, for playing to win.
func (s Settings) Quiet() Settings {
	s.NoiseWeight, s.GumbelScale = 0, 0
	return s
}

// Validate finds settings that do not go together.
func (s *Settings) Validate() error {
	if s.Search == "gumbel" && s.Simulations < 2 && s.Considered > 1 {
		return fmt.Errorf("simulations: %d cannot tell %d considered actions apart: use simulations=2 or more, or considered=1", s.Simulations, s.Considered)
	}
	return nil
}
