package wrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Record writes every episode that ends as a line of JSON into a file: an Episode.
// A resumed run goes on where its checkpoint was. A replica that has only a part
// of the environments puts the index of the first of them into the file's name.
func Record(file string) Wrapper {
	return Wrapper{text: "record=" + file, watch: func(_ *rl.Scope, g env.Groups, dir string) (env.Groups, error) {
		spec := g.Spec()[0]
		return &recorder{Groups: g, path: in(dir, file, spec), under: make([]*Episode, spec.Rows)}, nil
	}}
}

// in is the path of a recorder's file.
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

// Episode is what Record writes of one.
type Episode struct {
	Env    int      `json:"env"` // global index
	Length int      `json:"length"`
	Agents []Played `json:"agents"` // by kind
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
	Terminated []bool                 `json:"terminated"` // of each agent, at the end
	Truncated  []bool                 `json:"truncated"`
}

// recorder writes episodes.
type recorder struct {
	env.Groups
	path    string
	file    *os.File
	written int64
	under   []*Episode // under way, by environment
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

// row is what a tree holds of an environment.
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
	r.under[i] = nil
	line, err := json.Marshal(e)
	if err == nil {
		err = r.write(append(line, '\n'))
	}
	if err != nil {
		rl.Failf("recording episodes: %w", err)
	}
}

func flags(t rl.Tensor, i int) []bool { return rl.Read[bool](rl.Gather(t, 1, []int{i})) }

// write appends to the file, of which it cuts off what was written after the
// checkpoint that the run goes on from.
func (r *recorder) write(line []byte) error {
	if r.file == nil {
		f, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		r.file = f
		if err := f.Truncate(r.written); err != nil {
			return err
		}
		if _, err := f.Seek(r.written, io.SeekStart); err != nil {
			return err
		}
	}
	n, err := r.file.Write(line)
	r.written += int64(n)
	return err
}

// Save puts the episodes under way and how much is written.
func (r *recorder) Save(s *rl.State) {
	r.Groups.Save(s.At("inner"))
	data, err := json.Marshal(r.under)
	if err != nil {
		rl.Failf("recording episodes: %w", err)
	}
	rl.PutSlice(s, "written", []int64{r.written})
	rl.PutSlice(s, "episodes", data)
}

// Load takes them back.
func (r *recorder) Load(s *rl.State) error {
	if err := r.Groups.Load(s.At("inner")); err != nil {
		return err
	}
	written, data := rl.GetSliceN[int64](s, "written", 1), rl.GetSlice[byte](s, "episodes")
	if s.Err() != nil {
		return s.Err()
	}
	under := make([]*Episode, 0, len(r.under))
	if err := json.Unmarshal(data, &under); err != nil {
		return fmt.Errorf("recorded episodes: %w", err)
	}
	err := r.close()
	r.under, r.written = under, written[0]
	return err
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
