package ray

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/local"
)

// Allocation implements launch.Engine. Within a job it makes a placement group, and blocks until
// Ray has placed that.
func (e *Engine) Allocation(ctx context.Context, j launch.Job) (*launch.Allocation, error) {
	name, ok := job()
	if !ok {
		return nil, nil
	}
	w, err := read(j)
	if err != nil {
		return nil, err
	}
	d := &driver{path: os.Getenv("WEFT_RAY_SOCKET"), python: interpreter(w.python)}
	if d.path == "" { // of ray job submit
		if d, err = e.driver(ctx, w.address, w.python); err != nil {
			return nil, err
		}
	}
	var reply struct {
		Host  string
		Nodes []string
	}
	if err := d.ask(ctx, request{"verb": "reserve", "program": j.Program, "ask": w.ask}, &reply); err != nil {
		return nil, err
	}
	a := &launch.Allocation{Job: name + "@" + w.address, Host: reply.Host, Least: w.Workers, Limit: launch.NearEnd}
	a.Restarts, _ = strconv.Atoi(os.Getenv("WEFT_RAY_RESTARTS")) // of ray job submit it is not set
	for _, node := range reply.Nodes {
		a.Slots = append(a.Slots, launch.Slot{Node: node, Cores: int(max(1, w.Bundle["CPU"])), Memory: w.Bundle["memory"] / (1 << 30)})
	}
	a.Requeue = func(ctx context.Context) error { return d.ask(ctx, request{"verb": "requeue"}, nil) }
	a.Drains = func(ctx context.Context, drain func(slot int)) { d.drains(ctx, drain) }
	a.Launcher = launcher{host: reply.Host, driver: d}
	return a, nil
}

// drains calls drain for each slot whose node is about to leave, until ctx is done.
func (d *driver) drains(ctx context.Context, drain func(slot int)) {
	conn, err := d.dial(ctx, request{"verb": "drains"})
	if err != nil {
		return // the job ends
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var news struct{ Slot *int }
		if json.Unmarshal(lines.Bytes(), &news) == nil && news.Slot != nil {
			drain(*news.Slot)
		}
	}
}

// launcher starts the coordinator as a child process, and each worker by a child that has the
// driver run it in an actor.
type launcher struct {
	host   string
	driver *driver
}

// alive is how long a process must live to count as one that stays alive. It takes Ray a while to
// start one.
const alive = 10 * time.Second

// Launch implements launch.Launcher.
func (l launcher) Launch(ctx context.Context, s launch.Spec) (launch.Cluster, error) {
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return nil, err
	}
	env := inherited()
	for _, x := range s.Env {
		key, value, _ := strings.Cut(x, "=")
		env[key] = value
	}
	s.Workers = slices.Clone(s.Workers)
	for i, w := range s.Workers {
		text, err := json.Marshal(request{"slot": i, "env": env, "folder": dir})
		if err != nil {
			return nil, err
		}
		s.Workers[i].Wrap = append([]string{l.driver.python, "-S", "-E", "-c", step, l.driver.path, string(text)}, w.Wrap...)
	}
	return local.Launcher{Host: l.host, Alive: alive}.Launch(ctx, s)
}
