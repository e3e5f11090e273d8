package ui

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Edge says between which groups an edge of a run's plan is.
type Edge struct {
	Name string `json:"name"` // as metrics name it
	From string `json:"from"`
	To   string `json:"to"`
}

// traffic holds what crosses between the groups of a run, and how they spend their time: of an
// iteration, in the mean over the newest lines of the record.
type traffic struct {
	Lines  int           `json:"lines"` // lines that it is the mean of
	Edges  []edgeTraffic `json:"edges"`
	Groups []groupTime   `json:"groups"`
	Why    string        `json:"why,omitempty"` // why it is not known where edges lead
}

type edgeTraffic struct {
	Edge
	Messages  float64 `json:"messages"`
	Bytes     float64 `json:"bytes"`
	Wait      float64 `json:"wait"`  // seconds, of all replicas
	Depth     float64 `json:"depth"` // most messages that waited of one sender
	Staleness float64 `json:"staleness"`
}

// groupTime is how a replica of a group spent an iteration, in seconds.
type groupTime struct {
	Name string  `json:"name"`
	Busy float64 `json:"busy"`
	Wait float64 `json:"wait"`
}

// newest is how many lines at the end of a record traffic is the mean of, at most.
const newest = 20

// trafficOf answers with the traffic of a run.
func (s *Site) trafficOf(w http.ResponseWriter, q *http.Request) {
	x := s.asked(w, q)
	if x == nil {
		return
	}
	end, err := x.readTail(s.roots[x.root])
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	t := measured(end)
	if len(t.Edges) > 0 {
		t.Why = s.lead(q, x, t.Edges)
	}
	reply(w, t)
}

// lead fills in between which groups edges are. It returns why that is not known.
func (s *Site) lead(q *http.Request, x *run, edges []edgeTraffic) string {
	text, err := s.make(q.Context(), "edges", x)
	if err != nil {
		return err.Error()
	}
	var where []Edge
	if err := json.Unmarshal(text, &where); err != nil {
		return err.Error()
	}
	for i, e := range edges {
		if k := slices.IndexFunc(where, func(o Edge) bool { return o.Name == e.Name }); k >= 0 {
			edges[i].Edge = where[k]
		}
	}
	return ""
}

// measured returns the traffic that the last lines of a record tell of. The first may be cut.
func measured(end []byte) (t traffic) {
	t.Edges, t.Groups = []edgeTraffic{}, []groupTime{}
	edges, groups := map[string]*edgeTraffic{}, map[string]*groupTime{}
	lines := bytes.Split(bytes.TrimRight(end, "\n"), []byte("\n"))
	for _, line := range slices.Backward(lines) {
		var row map[string]any
		if t.Lines == newest || json.Unmarshal(line, &row) != nil {
			break
		}
		found := false
		for key, value := range row {
			v, ok := value.(float64)
			kind, name, what, is := part(key)
			if !ok || !is {
				continue
			}
			found = true
			if kind == "edge" {
				if edges[name] == nil {
					edges[name] = &edgeTraffic{Edge: Edge{Name: name}}
				}
				edges[name].add(what, v)
			} else {
				if groups[name] == nil {
					groups[name] = &groupTime{Name: name}
				}
				groups[name].add(what, v)
			}
		}
		if found {
			t.Lines++
		}
	}
	n := float64(max(1, t.Lines))
	for _, e := range edges {
		e.Messages, e.Bytes, e.Wait, e.Staleness = e.Messages/n, e.Bytes/n, e.Wait/n, e.Staleness/n
		t.Edges = append(t.Edges, *e)
	}
	for _, g := range groups {
		t.Groups = append(t.Groups, groupTime{g.Name, g.Busy / n, g.Wait / n})
	}
	slices.SortFunc(t.Edges, func(a, b edgeTraffic) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Groups, func(a, b groupTime) int { return strings.Compare(a.Name, b.Name) })
	return t
}

// part takes the name of a metric of an edge or a group apart: edge/NAME/bytes.
func part(key string) (kind, name, what string, ok bool) {
	kind, rest, _ := strings.Cut(key, "/")
	i := strings.LastIndex(rest, "/")
	if i < 1 || kind != "edge" && kind != "group" {
		return "", "", "", false
	}
	return kind, rest[:i], rest[i+1:], true
}

func (e *edgeTraffic) add(what string, v float64) {
	switch what {
	case "messages":
		e.Messages += v
	case "bytes":
		e.Bytes += v
	case "wait":
		e.Wait += v
	case "staleness":
		e.Staleness += v
	case "depth":
		e.Depth = max(e.Depth, v)
	}
}

func (g *groupTime) add(what string, v float64) {
	switch what {
	case "busy":
		g.Busy += v
	case "wait":
		g.Wait += v
	}
}
