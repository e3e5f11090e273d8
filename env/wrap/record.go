package wrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Record writes every episode that ends as a line of JSON into a file: an Episode.
// A resumed run goes on where its checkpoint was. A replica that has only a part
// of the environments puts the index of the first of them into the file's name.
func Record(file string) Wrapper {
	return Wrapper{text: "record=" + file, watch: func(_ *rl.Scope, g env.Groups, at place) (env.Groups, error) {
		spec := g.Spec()[0]
		return &recorder{Groups: g, at: at, whole: in(at.dir, file, env.Spec{}), path: in(at.dir, file, spec), under: make([]*Episode, spec.Rows)}, nil
	}}
}

// place is where recorders write.
type place struct {
	dir      string // folder of files that are not named with a full path
	confined bool   // everything is in dir
}

// open opens a file. A confined one is in dir, also if links in dir lead elsewhere.
func (p place) open(path string, how int) (*os.File, error) {
	if !p.confined {
		return os.OpenFile(path, how, 0o644)
	}
	name, err := filepath.Rel(p.dir, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, how, 0o644)
	return f, errors.Join(err, root.Close())
}

// in returns the path of a recorder's file.
func in(dir, file string, spec env.Spec) string {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	if spec.Rows < spec.Envs {
		ext := filepath.Ext(file)
		file = fmt.Sprintf("%s.%d%s", strings.TrimSuffix(file, ext), spec.First, ext)
	}
	return file
}

// Episode is a line that Record writes.
type Episode struct {
	Env    int      `json:"env"`   // global index
	Steps  int64    `json:"steps"` // steps of all environments when it ended
	Length int      `json:"length"`
	Agents []Played `json:"agents"` // agents, by kind
}

// Played is an episode as one kind of agent played it. Obs has an element more
// than the rest, the last observation. Numbers of several agents, and those of the
// leaves of a Dict, are in row-major order.
type Played struct {
	Kind       string                 `json:"kind,omitempty"`
	Return     float64                `json:"return"` // over all agents
	Obs        []map[string][]float64 `json:"obs"`
	Action     []map[string][]float64 `json:"action"`
	Reward     [][]float64            `json:"reward"`
	Terminated []bool                 `json:"terminated"` // termination of each agent, at the end
	Truncated  []bool                 `json:"truncated"`
}

// recorder writes episodes.
type recorder struct {
	env.Groups
	at     place
	whole  string // path of the file of all environments
	path   string
	file   *os.File
	loaded bool
	steps  int64      // steps of all environments
	under  []*Episode // under way, by environment
}

func (r *recorder) Unwrap() any { return r.Groups }

func (r *recorder) Obs() []rl.Obs {
	obs := r.Groups.Obs()
	r.begin(obs)
	return obs
}

// begin starts the episodes of environments that have none under way.
func (r *recorder) begin(obs []rl.Obs) {
	for i, e := range r.under {
		if e != nil {
			continue
		}
		e = &Episode{Env: r.Spec()[0].First + i}
		for k, s := range r.Spec() {
			e.Agents = append(e.Agents, Played{Kind: s.Kind, Obs: []map[string][]float64{row(obs[k].X, i)}})
		}
		r.under[i] = e
	}
}

// row returns what a tree holds of an environment.
func row(t rl.Tree, i int) map[string][]float64 {
	out := map[string][]float64{}
	for j, name := range t.Names() {
		out[name] = numbers(t.At(j), i)
	}
	return out
}

func numbers(t rl.Tensor, i int) []float64 { return rl.Floats(rl.Gather(t, 1, []int{i})) }

func (r *recorder) Step(action []rl.Tree) []rl.Step {
	r.Obs()
	out := r.Groups.Step(action)
	r.steps += int64(r.Spec()[0].Envs)
	for i, over := range rl.Read[bool](out[0].Over) {
		r.add(i, action, out)
		if over {
			r.end(i, out)
		}
	}
	next := make([]rl.Obs, len(out))
	for k, x := range out {
		next[k] = x.Obs
	}
	r.begin(next)
	return out
}

// add notes a step of environment i.
func (r *recorder) add(i int, action []rl.Tree, out []rl.Step) {
	e := r.under[i]
	e.Length++
	for k, x := range out {
		p := &e.Agents[k]
		p.Action, p.Obs = append(p.Action, row(action[k], i)), append(p.Obs, row(x.Final.X, i))
		p.Reward = append(p.Reward, numbers(x.Reward, i))
		for _, v := range p.Reward[e.Length-1] {
			p.Return += v
		}
	}
}

// end writes the episode of environment i.
func (r *recorder) end(i int, out []rl.Step) {
	e := r.under[i]
	for k, x := range out {
		e.Agents[k].Terminated, e.Agents[k].Truncated = flags(x.Terminated, i), flags(x.Truncated, i)
	}
	e.Steps, r.under[i] = r.steps, nil
	line, err := json.Marshal(e)
	if err == nil {
		err = r.write(append(line, '\n'))
	}
	if err != nil {
		rl.Failf("recording episodes: %w", err)
	}
}

func flags(t rl.Tensor, i int) []bool { return rl.Read[bool](rl.Gather(t, 1, []int{i})) }

// write appends to the file. What a run that is not resumed finds there is another's.
func (r *recorder) write(line []byte) (err error) {
	if r.file == nil {
		how := os.O_TRUNC
		if r.loaded {
			how = os.O_APPEND
		}
		if r.file, err = r.at.open(r.path, os.O_CREATE|os.O_WRONLY|how); err != nil {
			return err
		}
	}
	_, err = r.file.Write(line)
	return err
}

// Save puts how far the environments are, and their episodes under way.
func (r *recorder) Save(s *rl.State) {
	r.Obs()
	r.Groups.Save(s.At("inner"))
	rl.PutSlice(s, "steps", []int64{r.steps})
	if s.Restarts() {
		return
	}
	for _, e := range r.under {
		data, err := json.Marshal(e)
		if err != nil {
			rl.Failf("recording episodes: %w", err)
		}
		rl.PutSlice(s, fmt.Sprint("episode", e.Env), data)
	}
}

// Load restores what Save saved, and cuts off what was written later.
func (r *recorder) Load(s *rl.State) error {
	if err := r.Groups.Load(s.At("inner")); err != nil {
		return err
	}
	steps := rl.GetSliceN[int64](s, "steps", 1)
	clear(r.under)
	for i := range r.under {
		if s.Restarts() {
			break
		}
		data := rl.GetSlice[byte](s, fmt.Sprint("episode", r.Spec()[0].First+i))
		if s.Err() != nil {
			break
		}
		if err := json.Unmarshal(data, &r.under[i]); err != nil {
			return fmt.Errorf("recorded episodes: %w", err)
		}
	}
	if s.Err() != nil {
		return s.Err()
	}
	r.steps, r.loaded = steps[0], true
	return errors.Join(r.close(), r.cut())
}

// cut takes episodes out of the files of all replicas that there may have been
// which ended after what was loaded: the run does them again.
func (r *recorder) cut() error {
	ext := filepath.Ext(r.whole)
	files, err := filepath.Glob(strings.TrimSuffix(r.whole, ext) + "*" + ext)
	for _, file := range files {
		if r.wrote(file) {
			err = errors.Join(err, r.at.cut(file, r.steps))
		}
	}
	return err
}

// wrote reports whether a file is one that the recorder of a replica writes: in gives their names.
func (r *recorder) wrote(file string) bool {
	ext := filepath.Ext(r.whole)
	first, ok := strings.CutPrefix(strings.TrimSuffix(file, ext), strings.TrimSuffix(r.whole, ext)+".")
	_, err := strconv.ParseUint(first, 10, 63)
	return file == r.whole || ok && err == nil
}

// cut takes episodes out of a file that ended after so many steps.
func (p place) cut(path string, steps int64) (err error) {
	f, err := p.open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	size := 0
	for line := range bytes.Lines(data) {
		var e struct{ Steps int64 }
		if json.Unmarshal(line, &e) != nil || e.Steps > steps {
			return f.Truncate(int64(size))
		}
		size += len(line)
	}
	return nil
}

func (r *recorder) close() (err error) {
	if r.file != nil {
		err = r.file.Close()
		r.file = nil
	}
	return err
}

// Close closes the file and the environments.
func (r *recorder) Close() error { return errors.Join(r.close(), env.Close(r.Groups)) }
