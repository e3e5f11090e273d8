package slurm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/internal/launch"
)

// Allocation implements launch.Engine. It reads the environment that sbatch and salloc set: what
// was asked for does not matter any more.
func (Engine) Allocation(ctx context.Context, _ launch.Job) (*launch.Allocation, error) {
	id := os.Getenv("SLURM_JOB_ID")
	if id == "" {
		return nil, nil
	}
	if n, err := strconv.Atoi(os.Getenv("SLURM_STEP_NUM_TASKS")); err == nil && n > 1 {
		return nil, errors.New("--on slurm starts the workers itself: run this command once in the batch script, without srun")
	}
	a := &launch.Allocation{Job: id, Limit: launch.NearEnd}
	a.Restarts, _ = strconv.Atoi(os.Getenv("SLURM_RESTART_COUNT")) // it is not set the first time
	a.Requeue = func(ctx context.Context) error {
		_, err := call(ctx, "", "scontrol", "requeue", id)
		return err
	}
	var l launcher
	for _, suffix := range components(os.Getenv) {
		p, err := componentOf(ctx, func(name string) string { return os.Getenv(name + suffix) })
		if err != nil {
			return nil, err
		}
		if suffix != "" {
			p.option = "--het-group=" + strings.TrimPrefix(suffix, componentSuffix)
		}
		if l.host == "" {
			l.host = p.addresses[os.Getenv("SLURMD_NODENAME")]
		}
		for range p.slots {
			l.of = append(l.of, p)
		}
		a.Slots = append(a.Slots, p.slots...)
	}
	l.slots = a.Slots
	var err error
	if l.host == "" { // salloc: this is no node of the job
		l.host, err = facing(a.Slots[0].Address)
	}
	a.Host, a.Launcher = l.host, l
	return a, err
}

// component is a part of a heterogeneous job, or all of another one.
type component struct {
	addresses map[string]string // by node
	slots     []launch.Slot
	exact     bool   // several workers share a node, each with its own cores
	option    string // option of srun that has a step run there; may be empty
}

// componentSuffix ends the names of a component's variables, before its number.
const componentSuffix = "_HET_GROUP_"

// components returns the suffixes of the variables of a job's components.
func components(get func(string) string) (out []string) {
	n, err := strconv.Atoi(get("SLURM_HET_SIZE"))
	if err != nil {
		return []string{""}
	}
	for i := range n {
		out = append(out, componentSuffix+strconv.Itoa(i))
	}
	return out
}

// componentOf returns the component that variables are of.
func componentOf(ctx context.Context, get func(string) string) (p component, err error) {
	list := get("SLURM_JOB_NODELIST")
	out, err := call(ctx, "", "scontrol", "--oneliner", "show", "node", list)
	if err != nil {
		return p, err
	}
	if p.addresses, err = resolve(ctx, out); err != nil {
		return p, err
	}
	if out, err = call(ctx, "", "scontrol", "show", "hostnames", list); err != nil {
		return p, err
	}
	nodes := strings.Fields(out)
	p.slots, err = slots(nodes, p.addresses, get)
	p.exact = len(p.slots) > len(nodes)
	return p, err
}

// resolve returns the address of each node that scontrol tells of.
func resolve(ctx context.Context, text string) (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		f := fields(line)
		name, at := f["NodeName"], f["NodeAddr"]
		if name == "" {
			continue
		}
		all, err := net.DefaultResolver.LookupHost(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("the address of node %s: %w", name, err)
		}
		out[name] = all[0]
	}
	return out, nil
}

// facing returns the address of this machine from which packets to another one come. None is sent.
func facing(address string) (string, error) {
	conn, err := net.Dial("udp", net.JoinHostPort(address, "9"))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return conn.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

// slots returns the places of the tasks on nodes, with what the environment says that each task
// has.
func slots(nodes []string, addresses map[string]string, get func(string) string) (out []launch.Slot, err error) {
	tasks, err := counts(get("SLURM_TASKS_PER_NODE"), len(nodes), 1)
	if err != nil {
		return nil, err
	}
	cores, err := counts(get("SLURM_JOB_CPUS_PER_NODE"), len(nodes), 0)
	if err != nil {
		return nil, err
	}
	of := func(name string) int {
		n, _ := strconv.Atoi(get(name)) // not set: unknown
		return n
	}
	for i, node := range nodes {
		s := launch.Slot{Node: node, Address: addresses[node], Cores: of("SLURM_CPUS_PER_TASK")}
		if s.Address == "" {
			return nil, fmt.Errorf("scontrol show node does not say the address of node %s", node)
		}
		if s.Cores == 0 && cores[i] > 0 {
			s.Cores = max(1, cores[i]/tasks[i])
		}
		s.Memory = max(float64(of("SLURM_MEM_PER_NODE"))/float64(tasks[i]), float64(of("SLURM_MEM_PER_CPU")*s.Cores)) / 1024
		for range tasks[i] {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("SLURM_JOB_NODELIST names no node: run this command in a batch script, or in salloc")
	}
	return out, nil
}

var repeated = regexp.MustCompile(`^(\d+)(?:\(x(\d+)\))?$`)

// counts reads a number for each node, as in 2(x3),1. An empty text is so many times a default.
func counts(text string, nodes, otherwise int) (out []int, err error) {
	if text == "" {
		text = fmt.Sprintf("%d(x%d)", otherwise, nodes)
	}
	for word := range strings.SplitSeq(text, ",") {
		m := repeated.FindStringSubmatch(word)
		if m == nil {
			return nil, fmt.Errorf("%q is no list of numbers for nodes, as 2(x3),1", text)
		}
		n, _ := strconv.Atoi(m[1])
		times, err := strconv.Atoi(m[2])
		if err != nil {
			times = 1
		}
		for range min(times, nodes) {
			out = append(out, n)
		}
	}
	if len(out) != nodes {
		return nil, fmt.Errorf("%q has not a number for each of %d nodes", text, nodes)
	}
	return out, nil
}
