package runner

import (
	"cmp"
	"path/filepath"

	"github.com/weft-rl/weft/internal/profile"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/timing"
)

// ProfileFile is the name of the file that a profiled run's profile is in.
const ProfileFile = "profile.json"

// profiled adds the profile of a run that was recorded to its result, and writes it to a file.
func (s *Session) profiled() error {
	tallies := s.world.Tallies()
	if tallies == nil || s.begun.IsZero() {
		return nil
	}
	p := profile.Make(s.world.Plan, tallies, timing.Calibrated())
	p.Algorithm, p.Env = s.Algorithm.Name, s.Job.Env.ID
	s.result.Profile = p
	dir := cmp.Or(s.Dir, s.Files)
	if dir == "" {
		return nil
	}
	text, err := p.JSON()
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, ProfileFile), text)
}
