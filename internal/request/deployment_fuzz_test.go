package request

import (
	"testing"

	"github.com/weft-rl/weft/internal/config"
)

// FuzzCluster: whatever a file of a cluster holds is one that can be planned on, or an
// error.
func FuzzCluster(f *testing.F) {
	f.Add([]byte("workers:\n  a: {cores: 2, memory: 1.5, devices: [cpu]}\n  b.c: {host: h}\n"))
	f.Add([]byte("workers: {a: {memory: 1e300}}"))
	f.Add([]byte("workers: [1]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCluster(data, "f")
		if err == nil && c.Check() != nil {
			t.Errorf("%+v: %v", c, c.Check())
		}
	})
}

// FuzzDeployment: whatever a file of a deployment holds is one, or an error.
func FuzzDeployment(f *testing.F) {
	f.Add([]byte("policy: single-learner-coarse\nworkers: 4\nplacement: {learner: 0, collector: [1, 2]}\ndevices: {learner: cuda}\n"))
	f.Add([]byte("placement: [a:0, b]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := config.ParseYAML(data, "f")
		if err == nil {
			_, _ = deploymentOf(all) // settings or an error
		}
	})
}
