package plan

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
)

// Cluster is the machines that a plan may use.
type Cluster struct {
	Workers []Worker `json:"workers"`
}

// Worker is one process, or one lane of this process, that hosts replicas.
type Worker struct {
	Name    string   `json:"name"`
	Host    string   `json:"host,omitempty"` // workers of one host share its memory
	Cores   int      `json:"cores"`
	Memory  int64    `json:"memory,omitempty"` // bytes; 0 is unknown
	Devices []string `json:"devices"`          // devices that compute, the preferred one first
}

// CPU is the device that every worker of this process has.
const CPU = "cpu"

// Local returns n lanes of this process, which compute on the first of the given devices
// unless a deployment says otherwise.
func Local(n int, devices ...string) Cluster {
	var c Cluster
	for i := range n {
		c.Workers = append(c.Workers, Worker{
			Name: fmt.Sprintf("local/%d", i), Host: "local", Cores: max(1, runtime.NumCPU()/n), Devices: slices.Clone(devices),
		})
	}
	return c
}

// Check returns all problems of a cluster's description, joined into one error.
func (c Cluster) Check() error {
	var errs []error
	if len(c.Workers) == 0 {
		errs = append(errs, errors.New("the cluster has no worker"))
	}
	names := map[string]bool{}
	for i, w := range c.Workers {
		if w.Name == "" || names[w.Name] {
			errs = append(errs, fmt.Errorf("worker %d: the name %q is empty or taken", i, w.Name))
		}
		names[w.Name] = true
		if w.Cores < 1 || w.Memory < 0 {
			errs = append(errs, fmt.Errorf("worker %s has %d cores and %d bytes of memory: it needs at least one core", w.Name, w.Cores, w.Memory))
		}
		if len(w.Devices) == 0 || slices.Contains(w.Devices, "") {
			errs = append(errs, fmt.Errorf("worker %s has no device: name one, cpu for instance", w.Name))
		}
	}
	return errors.Join(errs...)
}
