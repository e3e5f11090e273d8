package dataset

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// readCSV reads steps of a CSV file with a header: the columns episode, obs (or obs_0, obs_1, ...),
// action (or action_0, ...), reward, terminated and truncated. Behind the steps of an episode
// stands a row with the final observation, whose reward is empty.
func readCSV(path string) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := csv.NewReader(bufio.NewReader(f))
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("it has no header: %w", err)
	}
	c, err := csvColumns(header)
	if err != nil {
		return nil, err
	}
	t := &table{obs: array{dims: c.dims(c.obs)}, next: array{dims: c.dims(c.obs)}, action: array{whole: true, dims: c.dims(c.action)}}
	var episode string
	open := false // an episode whose final observation is to come
	for n := 0; ; n++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && row[c.episode] != episode && open {
			err = fmt.Errorf("the final observation of episode %s is missing: a row with an empty reward", episode)
		}
		if err == nil {
			episode = row[c.episode]
			open, err = t.addRow(c, row)
		}
		if err != nil {
			return nil, fmt.Errorf("episode %s: row %d: %w", episode, n, err)
		}
	}
	if open || len(t.reward) == 0 {
		return nil, fmt.Errorf("the final observation of episode %q is missing: a row with an empty reward", episode)
	}
	t.obs.dims[0], t.next.dims[0], t.action.dims[0] = len(t.reward), len(t.reward), len(t.reward)
	return t, nil
}

// csvColumn says where the columns of a CSV file are.
type csvColumn struct {
	episode, reward, terminated, truncated int
	obs, action                            []int
}

func csvColumns(header []string) (c csvColumn, err error) {
	find := func(name string) int {
		i := slices.Index(header, name)
		if i < 0 && err == nil {
			err = fmt.Errorf("there is no column %q: the header is %s", name, strings.Join(header, ","))
		}
		return i
	}
	several := func(name string) (out []int) {
		for i := 0; ; i++ {
			at := slices.Index(header, fmt.Sprintf("%s_%d", name, i))
			if at < 0 {
				break
			}
			out = append(out, at)
		}
		if out == nil {
			out = []int{find(name)}
		}
		return out
	}
	c.episode, c.reward, c.terminated, c.truncated = find("episode"), find("reward"), find("terminated"), find("truncated")
	c.obs, c.action = several("obs"), several("action")
	return c, err
}

// dims returns the dimensions of a column: numbers that are not numbered are single ones.
func (c csvColumn) dims(at []int) []int {
	if len(at) == 1 {
		return []int{0}
	}
	return []int{0, len(at)}
}

// addRow adds a step, or the final observation of an episode. open is true after a step.
func (t *table) addRow(c csvColumn, row []string) (open bool, err error) {
	obs, err := parse(row, c.obs)
	if err != nil {
		return false, err
	}
	if n := len(t.reward); n > 0 && len(t.next.x) < n*len(c.obs) { // what follows a step is its successor
		t.next.x = append(t.next.x, obs...)
	}
	if row[c.reward] == "" {
		if n := len(t.reward); n > 0 && !t.terminated[n-1] {
			t.truncated[n-1] = true
		}
		return false, nil
	}
	t.obs.x = append(t.obs.x, obs...)
	action, err := parse(row, c.action)
	if err != nil {
		return false, err
	}
	for _, i := range c.action {
		t.action.whole = t.action.whole && !strings.ContainsAny(row[i], ".eE")
	}
	t.action.x = append(t.action.x, action...)
	reward, err := parse(row, []int{c.reward})
	if err != nil {
		return false, err
	}
	term, err := strconv.ParseBool(strings.ToLower(row[c.terminated]))
	if err != nil {
		return false, fmt.Errorf("terminated is %q, not true or false", row[c.terminated])
	}
	trunc, err := strconv.ParseBool(strings.ToLower(row[c.truncated]))
	if err != nil {
		return false, fmt.Errorf("truncated is %q, not true or false", row[c.truncated])
	}
	t.reward, t.terminated, t.truncated = append(t.reward, reward[0]), append(t.terminated, term), append(t.truncated, trunc)
	return true, nil
}

func parse(row []string, at []int) (out []float64, err error) {
	for _, i := range at {
		x, err := strconv.ParseFloat(row[i], 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", row[i])
		}
		out = append(out, x)
	}
	return out, nil
}

// record is an episode as --wrap record=FILE writes it.
type record struct {
	Env    int   `json:"env"`
	Steps  int64 `json:"steps"`
	Agents []struct {
		Obs        []map[string][]float64 `json:"obs"`
		Action     []map[string][]float64 `json:"action"`
		Reward     [][]float64            `json:"reward"`
		Terminated []bool                 `json:"terminated"`
	} `json:"agents"`
}

// readRecords reads episodes that --wrap record=FILE wrote, in the order in which they ended.
func readRecords(paths ...string) (*table, error) {
	var all []record
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		for d := json.NewDecoder(bufio.NewReader(f)); ; {
			var r record
			if err := d.Decode(&r); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("episode %d: %w", len(all), err)
			}
			if len(r.Agents) != 1 || len(r.Agents[0].Obs) != len(r.Agents[0].Action)+1 || len(r.Agents[0].Terminated) != 1 {
				return nil, fmt.Errorf("episode %d: it has several agents, or is not whole", len(all))
			}
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b record) int {
		if a.Steps != b.Steps {
			return int(a.Steps - b.Steps)
		}
		return a.Env - b.Env
	})
	t := &table{obs: array{dims: []int{0, 0}}, next: array{dims: []int{0, 0}}, action: array{dims: []int{0}, whole: true}}
	for i, r := range all {
		if err := t.addRecord(r); err != nil {
			return nil, fmt.Errorf("episode %d: %w", i, err)
		}
	}
	if len(t.reward) == 0 {
		return nil, errors.New("it has no episode")
	}
	n := len(t.reward)
	t.obs.dims, t.next.dims = []int{n, len(t.obs.x) / n}, []int{n, len(t.obs.x) / n}
	if t.action.dims = []int{n}; len(t.action.x) != n || !t.action.whole {
		t.action.dims = []int{n, len(t.action.x) / n}
	}
	return t, nil
}

// addRecord adds the steps of an episode.
func (t *table) addRecord(r record) error {
	p := r.Agents[0]
	for i, action := range p.Action {
		obs, ok := p.Obs[i][""]
		next, too := p.Obs[i+1][""]
		act, three := action[""]
		if !ok || !too || !three || len(p.Reward[i]) != 1 {
			return fmt.Errorf("row %d: only simple spaces are imported", i)
		}
		t.obs.x, t.next.x, t.action.x = append(t.obs.x, obs...), append(t.next.x, next...), append(t.action.x, act...)
		for _, v := range act {
			t.action.whole = t.action.whole && v == float64(int64(v))
		}
		last := i == len(p.Action)-1
		t.reward = append(t.reward, p.Reward[i][0])
		t.terminated, t.truncated = append(t.terminated, last && p.Terminated[0]), append(t.truncated, last && !p.Terminated[0])
	}
	return nil
}
