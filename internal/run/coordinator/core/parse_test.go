package core

import "testing"

// Whatever was kept, reading it gives an error or a run that a coordinator can go on
// with.
func FuzzParseRun(f *testing.F) {
	f.Add([]byte(`{"name":"r","phase":"running","epoch":3}`))
	f.Add([]byte(`{"name":"r","phase":"running","epoch":3,"plan":{"owner":"x"},"members":[{"name":"a"}]}`))
	f.Add([]byte(`{"name":"r","phase":"waiting","why":"x","told":-1,"until":5}`))
	f.Add([]byte(`{"name":"r","phase":"running","halting":true,"epoch":1,"plan":{"owner":"x"},"members":[{"name":"a"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ParseRun(text)
		if err != nil {
			return
		}
		c := New(small)
		c.Step(Loaded{Runs: []Run{r}, Alive: []string{"a"}})
		c.Step(Joined{Worker: Worker{Name: "a", Session: 1}, Doing: &Doing{Run: r.Name, Epoch: r.Epoch, Ready: true}})
		for range 100 {
			c.Step(Tick{})
		}
	})
}
