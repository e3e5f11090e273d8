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
	list := os.Getenv("SLURM_JOB_NODELIST")
	out, err := call(ctx, "", "scontrol", "--oneliner", "show", "node", list)
	if err != nil {
		return nil, err
	}
	addresses, err := resolve(ctx, out)
	if err != nil {
		return nil, err
	}
	if out, err = call(ctx, "", "scontrol", "show", "hostnames", list); err != nil {
		return nil, err
	}
	nodes := strings.Fields(out)
	if a.Slots, err = slots(nodes, addresses, os.Getenv); err != nil {
		return nil, err
	}
	if a.Host = addresses[os.Getenv("SLURMD_NODENAME")]; a.Host == "" { // salloc: this is no node of the job
		if a.Host, err = facing(a.Slots[0].Address); err != nil {
			return nil, err
		}
	}
	a.Launcher = launcher{host: a.Host, slots: a.Slots, exact: len(a.Slots) > len(nodes)}
	return a, nil
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
