package request

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/plan"
)

// ReadDeployment reads a file that holds nothing but a deployment.
func ReadDeployment(path string) ([]config.Assignment, error) {
	all, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return deploymentOf(all)
}

// deploymentOf returns the settings of a deployment, if they are that.
func deploymentOf(all []config.Assignment) ([]config.Assignment, error) {
	all = gathered(all)
	var d plan.Deployment
	return all, errors.Join(config.Defaults(&d), config.Set(&d, all))
}

// gathered makes one setting each of a placement and of devices that a file writes as
// maps from groups to workers or devices.
func gathered(all []config.Assignment) (out []config.Assignment) {
	at := map[string]int{}
	for _, a := range all {
		key, group, ok := strings.Cut(a.Key, ".")
		if !ok || key != "placement" && key != "devices" {
			out = append(out, a)
			continue
		}
		var items []string
		for w := range strings.SplitSeq(a.Value, ",") {
			items = append(items, group+":"+strings.TrimSpace(w))
		}
		if i, begun := at[key]; begun {
			out[i].Value += "," + strings.Join(items, ",")
			continue
		}
		at[key] = len(out)
		out = append(out, config.Assignment{Key: key, Value: strings.Join(items, ","), Source: a.Source, List: true})
	}
	return out
}

// workerFile is a deployment file's entry of one worker.
type workerFile struct {
	Host    string   `doc:"machine of the worker; workers of one host share its memory"`
	Cores   int      `default:"1" unit:"cores" range:"[1,)" doc:"cores that the worker may use"`
	Memory  float64  `default:"0" unit:"GiB" range:"[0,)" doc:"memory that the worker may use; 0 is unknown"`
	Devices []string `default:"cpu" doc:"devices to compute on, the preferred one first"`
}

// readCluster reads a cluster's description: its workers by name, in the order of
// the file.
func readCluster(path string) (*plan.Cluster, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseCluster(data, path)
}

func parseCluster(data []byte, path string) (*plan.Cluster, error) {
	all, err := config.ParseYAML(data, path)
	errs := []error{err}
	var names []string
	of := map[string][]config.Assignment{}
	for _, a := range all {
		rest, ok := strings.CutPrefix(a.Key, "workers.")
		dot := strings.LastIndexByte(rest, '.')
		if !ok || dot < 0 {
			errs = append(errs, fmt.Errorf("%s: %s is not of a worker: a cluster is workers by name, as in workers: {a: {cores: 2}}", a.Source, a.Key))
			continue
		}
		name := rest[:dot]
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		a.Key = rest[dot+1:]
		of[name] = append(of[name], a)
	}
	c := &plan.Cluster{}
	for _, name := range names {
		var w workerFile
		errs = append(errs, config.Defaults(&w), config.Set(&w, of[name]))
		c.Workers = append(c.Workers, plan.Worker{Name: name, Host: w.Host, Cores: w.Cores, Memory: int64(w.Memory * (1 << 30)), Devices: w.Devices})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Prefer puts a device first on every worker, which must have it.
func Prefer(c *plan.Cluster, device string) error {
	var errs []error
	for i := range c.Workers {
		w := &c.Workers[i]
		at := slices.Index(w.Devices, device)
		if at < 0 {
			errs = append(errs, fmt.Errorf("--device: worker %s has no %s: it has %s", w.Name, device, strings.Join(w.Devices, ", ")))
			continue
		}
		w.Devices = slices.Insert(slices.Delete(slices.Clone(w.Devices), at, at+1), 0, device)
	}
	return errors.Join(errs...)
}
