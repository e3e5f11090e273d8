package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// placed returns the workers of each group that the deployment names, by group.
func (d Deployment) placed() (map[string][]string, error) {
	return byGroup(d.Placement, "placement", "worker")
}

// byGroup takes apart a list of group:what.
func byGroup(list []string, key, what string) (map[string][]string, error) {
	out := map[string][]string{}
	var errs []error
	for _, text := range list {
		group, name, ok := strings.Cut(text, ":")
		switch {
		case !ok || group == "" || name == "":
			errs = append(errs, fmt.Errorf("%s %q is not of the form group:%s", key, text, what))
		case slices.Contains(out[group], name):
			errs = append(errs, fmt.Errorf("%s: group %s is on %s %s twice", key, group, what, name))
		default:
			out[group] = append(out[group], name)
		}
	}
	return out, errors.Join(errs...)
}

// CheckPlacement reports, all at once, which groups and workers the deployment
// names that there are not.
func (d Deployment) CheckPlacement(by Grouping, c Cluster) error {
	placed, err := d.placed()
	errs := []error{err}
	var groups, workers []string
	for _, g := range by.Groups {
		groups = append(groups, g.Name)
	}
	for _, w := range c.Workers {
		workers = append(workers, w.Name)
	}
	for _, text := range d.Placement {
		group, worker, _ := strings.Cut(text, ":")
		if len(placed[group]) == 0 {
			continue // said already
		}
		if len(groups) == 0 {
			errs = append(errs, fmt.Errorf("placement %s: the policy makes no groups that could be placed", text))
			continue
		}
		if !slices.Contains(groups, group) {
			errs = append(errs, fmt.Errorf("placement %s: there is no group %s; the policy makes %s", text, group, strings.Join(groups, ", ")))
		}
		if !slices.Contains(workers, worker) {
			errs = append(errs, fmt.Errorf("placement %s: there is no worker %s; the cluster has %s", text, worker, strings.Join(workers, ", ")))
		}
	}
	return errors.Join(errs...)
}

// Place moves groups to the workers that the deployment names for them: replicas
// are shared out among these in contiguous ranges. Other groups stay where they are.
func (p *Plan) Place(d Deployment, c Cluster) error {
	placed, err := d.placed()
	if err != nil {
		return err
	}
	var errs []error
	for _, g := range p.Groups {
		names, replicas := placed[g.Name], len(p.Of(g.Name))
		if len(names) > replicas {
			errs = append(errs, fmt.Errorf("placement: group %s is given %d workers, but has %d replicas: name fewer, or split it further with --replicas", g.Name, len(names), replicas))
			continue
		}
		for i := range p.Replicas {
			if r := &p.Replicas[i]; r.Group == g.Name && len(names) > 0 {
				r.Worker = c.find(names[r.Rank*len(names)/replicas])
				r.Device = c.Workers[r.Worker].Devices[0]
			}
		}
	}
	return errors.Join(errs...)
}

// find returns the number of a worker, which there is.
func (c Cluster) find(name string) int {
	return slices.IndexFunc(c.Workers, func(w Worker) bool { return w.Name == name })
}
