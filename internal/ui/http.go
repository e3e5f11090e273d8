package ui

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/study"
)

//go:embed page
var page embed.FS

// Handler returns what answers: the page at /, and under /api what it shows.
func (s *Site) Handler() http.Handler {
	mux := http.NewServeMux()
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /api/runs", s.runsTable)
	mux.HandleFunc("GET /api/run", s.oneRun)
	mux.HandleFunc("GET /api/curves", s.curvesOf)
	mux.HandleFunc("GET /api/file", s.fileOf)
	mux.HandleFunc("GET /api/graph", s.drawn("graph"))
	mux.HandleFunc("GET /api/plan", s.drawn("plan"))
	mux.HandleFunc("GET /api/traffic", s.trafficOf)
	mux.HandleFunc("GET /api/profile", s.profileOf)
	mux.HandleFunc("GET /api/cluster", s.clusterOf)
	mux.HandleFunc("GET /api/events", s.events)
	return headers(mux)
}

// headers has browsers load nothing from elsewhere, and show the page nowhere else.
func headers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Security-Policy",
			"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if strings.HasPrefix(q.URL.Path, "/api/") {
			w.Header().Set("Cache-Control", "no-store")
		}
		h.ServeHTTP(w, q)
	})
}

// table is the summary of all runs. Settings are those in which a run differs from Common.
type table struct {
	Changes int64             `json:"changes"`
	Common  map[string]string `json:"common"`
	Runs    []summary         `json:"runs"`
	Cluster bool              `json:"cluster"` // there is one to be shown
}

type summary struct {
	*run
	Settings map[string]*string `json:"settings"` // nil: the run does not have it
}

func (s *Site) runsTable(w http.ResponseWriter, q *http.Request) {
	select {
	case <-s.scanned:
	case <-q.Context().Done():
		return
	}
	runs, changes := s.list()
	t := table{Changes: changes, Common: common(runs), Runs: []summary{}, Cluster: s.Cluster != nil}
	for _, r := range runs {
		x := summary{r, map[string]*string{}}
		for k, v := range r.Settings {
			if t.Common[k] != v {
				x.Settings[k] = &v
			}
		}
		for k := range t.Common {
			if _, ok := r.Settings[k]; !ok {
				x.Settings[k] = nil
			}
		}
		t.Runs = append(t.Runs, x)
	}
	reply(w, t)
}

// oneRun answers with all that is known of a run.
func (s *Site) oneRun(w http.ResponseWriter, q *http.Request) {
	x := s.asked(w, q)
	if x == nil {
		return
	}
	names, err := s.metricNames(x)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	has := func(file string) bool {
		_, err := s.roots[x.root].Stat(path.Join(x.dir, file))
		return err == nil
	}
	split := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "edge/") || strings.HasPrefix(name, "group/") })
	reply(w, map[string]any{
		"run": x, "settings": x.Settings, "metrics": names, "films": s.films(x), "log": has(logFile), "profile": has(profileFile), "split": split,
	})
}

// asked returns the run that a request names; nil if it answered that there is none.
func (s *Site) asked(w http.ResponseWriter, q *http.Request) *run {
	found, err := s.find([]string{q.URL.Query().Get("run")})
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return nil
	}
	return found[0]
}

// mostCurves bounds the runs that may be asked for at once.
const mostCurves = 200

// curvesOf answers with the curves of some runs: run=ID (several times), metric, x=steps or time,
// smooth from 0 to 1, points, and group=SETTING to join the runs of equal settings.
func (s *Site) curvesOf(w http.ResponseWriter, q *http.Request) {
	query := q.URL.Query()
	runs, err := s.find(query["run"])
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	if len(runs) > mostCurves {
		fail(w, http.StatusBadRequest, fmt.Errorf("curves of %d runs at once: ask for at most %d", len(runs), mostCurves))
		return
	}
	alpha, err1 := number(query, "smooth", 0, 0, .999)
	points, err2 := number(query, "points", 400, 4, 10_000)
	if err := errors.Join(err1, err2); err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	xs, ys := make([][]float64, len(runs)), make([][]float64, len(runs))
	errs := make([]error, len(runs))
	s.each(runs, func(i int, r *run) {
		var c curve
		c, errs[i] = s.curve(r, query.Get("metric"))
		xs[i], ys[i] = c.axis(query.Get("x") == "time"), study.Smooth(c.y, alpha)
	})
	if err := errors.Join(errs...); err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	out := []line{}
	if by := query["group"]; len(by) > 0 {
		out = grouped(runs, by, xs, ys)
	} else {
		for i, r := range runs {
			x, y := thin(xs[i], ys[i], int(points))
			out = append(out, line{Label: r.Name, Runs: []string{r.ID}, X: x, Y: y})
		}
	}
	reply(w, map[string]any{"lines": out})
}

// each calls do with every run, a few at a time.
func (s *Site) each(runs []*run, do func(i int, r *run)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i, r := range runs {
		slots <- struct{}{}
		wait.Go(func() {
			do(i, r)
			<-slots
		})
	}
	wait.Wait()
}

// grouped joins the runs that have the same values of some settings.
func grouped(runs []*run, by []string, xs, ys [][]float64) (out []line) {
	var labels []string
	members := map[string][]int{}
	for i, r := range runs {
		var parts []string
		for _, k := range by {
			if v, ok := r.Settings[k]; ok && (k == "algorithm" || k == "env" || k == "policy") {
				parts = append(parts, v)
			} else if ok {
				parts = append(parts, k+"="+v)
			}
		}
		label := strings.Join(parts, " ")
		if members[label] == nil {
			labels = append(labels, label)
		}
		members[label] = append(members[label], i)
	}
	slices.Sort(labels)
	for _, label := range labels {
		var some []*run
		var sx, sy [][]float64
		for _, i := range members[label] {
			some, sx, sy = append(some, runs[i]), append(sx, xs[i]), append(sy, ys[i])
		}
		out = append(out, joined(label, some, sx, sy))
	}
	return out
}

// number returns a number of a query, within bounds.
func number(query url.Values, key string, otherwise, low, high float64) (float64, error) {
	text := query.Get(key)
	if text == "" {
		return otherwise, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= low && x <= high) {
		return 0, fmt.Errorf("%s: %q is not a number from %v to %v", key, text, low, high)
	}
	return x, nil
}

// fileOf answers with the log or a film of a run.
func (s *Site) fileOf(w http.ResponseWriter, q *http.Request) {
	x := s.asked(w, q)
	if x == nil {
		return
	}
	name := q.URL.Query().Get("name")
	data, err := s.file(x, name)
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	if name != logFile {
		w.Header().Set("Content-Type", filmKinds[path.Ext(name)])
		http.ServeContent(w, q, name, time.Time{}, bytes.NewReader(data)) // browsers ask for films in pieces
		return
	}
	if len(data) > mostLog {
		data = data[len(data)-mostLog:]
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(data) // a client that has left
}

// mostLog bounds the bytes at the end of a log that are shown.
const mostLog = 256 << 10

// drawing is a picture, or what else takes a while, that is made once.
type drawing struct {
	once sync.Once
	text []byte
	err  error
}

// drawn answers with a picture of a run's graph or plan.
func (s *Site) drawn(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		x := s.asked(w, q)
		if x == nil {
			return
		}
		svg, err := s.make(q.Context(), what, x)
		if err != nil {
			fail(w, http.StatusNotFound, err)
			return
		}
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(svg) // a client that has left
	}
}

// make returns what is made of a run's settings, once: the picture of its graph or its plan, or the
// edges of its plan as JSON.
func (s *Site) make(ctx context.Context, what string, x *run) ([]byte, error) {
	key := what + "\n" + x.Settings["algorithm"]
	if what != "graph" {
		key = fmt.Sprint(what, x.ID, x.config)
	}
	s.mu.Lock()
	d := s.made[key]
	if d == nil {
		d = &drawing{}
		s.made[key] = d
	}
	s.mu.Unlock()
	d.once.Do(func() {
		ctx := context.WithoutCancel(ctx)
		switch what {
		case "plan":
			d.text, d.err = s.Plan(ctx, x.file)
		case "edges":
			var edges []Edge
			if edges, d.err = s.Edges(ctx, x.file); d.err == nil {
				d.text, d.err = json.Marshal(edges)
			}
		default:
			d.text, d.err = s.Graph(ctx, x.Settings["algorithm"])
		}
	})
	return d.text, d.err
}

// events tells of runs that changed, as server-sent events. A client that comes again says in
// Last-Event-ID what it knows.
func (s *Site) events(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	known, _ := strconv.ParseInt(q.Header.Get("Last-Event-ID"), 10, 64)
	if after, err := strconv.ParseInt(q.URL.Query().Get("after"), 10, 64); err == nil {
		known = max(known, after)
	}
	for {
		changes, ids, wait := s.since(known)
		if changes > known {
			data, err := json.Marshal(ids)
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", changes, data); err != nil {
				return
			}
			known = changes
		} else if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil {
			return
		}
		if flush.Flush() != nil {
			return
		}
		select {
		case <-wait:
		case <-q.Context().Done():
			return
		case <-s.ended:
			return
		case <-time.After(15 * time.Second):
		}
	}
}

// since returns the ids of the runs that changed, and what is closed at the next change.
func (s *Site) since(known int64) (changes int64, ids []string, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids = []string{}
	for _, id := range s.order {
		if s.runs[id].change > known {
			ids = append(ids, id)
		}
	}
	return s.changes, ids, s.waiting
}

func reply(w http.ResponseWriter, x any) {
	w.Header().Set("Content-Type", "application/json")
	text, err := json.Marshal(x)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	_, _ = w.Write(text) // a client that has left
}

// fail says what is wrong.
func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, err)
}
