package ui

import (
	"encoding/json"
	"path"
	"regexp"
	"strconv"
	"sync"
)

// trialFolder finds the folder of a trial in the path of its run. What is before it is the sweep's.
var trialFolder = regexp.MustCompile(`^(.*?)/?trial-([0-9]+)(/|$)`)

// trialsFile is the table of a sweep's trials.
const trialsFile = "trials.json"

// openTrial is the state of a trial that is trained, or waits to be.
const openTrial = "open"

// sweepCache holds the states of trials, by the file that they are in.
type sweepCache struct {
	mu     sync.Mutex
	tables map[string]trialStates
}

// trialStates are the states of the trials of a sweep, by number.
type trialStates struct {
	file   stamp
	states map[int]string
}

// trialOf returns how the trial stands that a run belongs to; empty if it is no trial of a sweep.
func (s *Site) trialOf(r root, dir string) string {
	m := trialFolder.FindStringSubmatch(dir)
	if m == nil {
		return ""
	}
	name := path.Join(m[1], trialsFile)
	info, err := r.Stat(name)
	if err != nil {
		return ""
	}
	n, err := strconv.Atoi(m[2])
	if err != nil {
		return ""
	}
	key := r.name + "\n" + name
	s.sweeps.mu.Lock()
	defer s.sweeps.mu.Unlock()
	t, ok := s.sweeps.tables[key]
	if now := stampOf(info); !ok || t.file != now {
		t = trialStates{now, readStates(r, name)}
		if s.sweeps.tables == nil {
			s.sweeps.tables = map[string]trialStates{}
		}
		s.sweeps.tables[key] = t
	}
	return t.states[n]
}

// readStates reads a table of trials; one that cannot be read has none.
func readStates(r root, name string) map[int]string {
	var table struct {
		Trials []struct {
			Trial  int    `json:"trial"`
			Status string `json:"status"`
		} `json:"trials"`
	}
	text, err := r.ReadFile(name)
	if err != nil || json.Unmarshal(text, &table) != nil {
		return nil
	}
	out := map[int]string{}
	for _, t := range table.Trials {
		out[t.Trial] = t.Status
	}
	return out
}
