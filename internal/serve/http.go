package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server answers for policies. The first one answers requests that name none.
type Server struct{ Policies []*Policy }

// Handler returns what answers:
//
//	POST /v1/act                 the first policy's action
//	POST /v1/policies/NAME/act   another's
//	GET  /v1/policies            which there are, their versions and spaces
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/act", func(w http.ResponseWriter, q *http.Request) { s.act(w, q, s.Policies[0]) })
	mux.HandleFunc("POST /v1/policies/{name}/act", func(w http.ResponseWriter, q *http.Request) {
		p, err := s.policy(q.PathValue("name"))
		if err != nil {
			fail(w, http.StatusNotFound, err)
			return
		}
		s.act(w, q, p)
	})
	mux.HandleFunc("GET /v1/policies", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.describe()) })
	return mux
}

// policy returns the policy of a name; the first one has the empty name too.
func (s *Server) policy(name string) (*Policy, error) {
	if name == "" {
		return s.Policies[0], nil
	}
	i := slices.IndexFunc(s.Policies, func(p *Policy) bool { return p.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("there is no policy %q: there are %s", name, s.names())
	}
	return s.Policies[i], nil
}

func (s *Server) names() string {
	var out []string
	for _, p := range s.Policies {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// act answers a request for an action, or a list of them.
func (s *Server) act(w http.ResponseWriter, q *http.Request, p *Policy) {
	began := time.Now()
	out, list, status, err := p.answer(q)
	p.stats.request(status, time.Since(began))
	switch {
	case err != nil:
		fail(w, status, err)
	case list:
		reply(w, status, out)
	default:
		reply(w, status, out[0])
	}
}

func (p *Policy) answer(q *http.Request) (out []response, list bool, status int, err error) {
	all, list, err := decode(q.Body)
	if err != nil {
		return nil, list, http.StatusBadRequest, err
	}
	out = make([]response, len(all))
	errs := make([]error, len(all))
	statuses := make([]int, len(all))
	var wait sync.WaitGroup
	for i, one := range all {
		if len(all) == 1 {
			out[i], statuses[i], errs[i] = p.one(q.Context(), one)
			continue
		}
		wait.Go(func() {
			out[i], statuses[i], errs[i] = p.one(q.Context(), one)
			if errs[i] != nil {
				errs[i] = fmt.Errorf("request %d: %w", i, errs[i])
			}
		})
	}
	wait.Wait()
	status = http.StatusOK
	if len(statuses) > 0 {
		status = slices.Max(statuses)
	}
	return out, list, status, errors.Join(errs...)
}

// one answers a single request.
func (p *Policy) one(ctx context.Context, one request) (out response, status int, err error) {
	d, status, err := p.decide(ctx, one)
	if err != nil {
		return out, status, err
	}
	return d.answer(), status, nil
}

// decide has the version decide that a request asks for. The status is HTTP's.
func (p *Policy) decide(ctx context.Context, one request) (d decision, status int, err error) {
	step := int64(-1)
	if one.Version != nil {
		step = max(0, *one.Version)
	}
	v, release, err := p.take(step)
	if errors.Is(err, errEnding) {
		return d, http.StatusServiceUnavailable, err
	}
	if err != nil {
		return d, http.StatusNotFound, err
	}
	defer release()
	a, err := one.ask(v.player)
	if err != nil {
		return d, http.StatusBadRequest, err
	}
	told, err := v.decide(ctx, a)
	switch {
	case errors.Is(err, errBusy):
		return d, http.StatusServiceUnavailable, err
	case err != nil:
		return d, http.StatusInternalServerError, err
	}
	d = decision{v.player.Specs(), v.step, told}
	if err := d.check(); err != nil {
		return d, http.StatusInternalServerError, err
	}
	return d, http.StatusOK, nil
}

// described is a policy as a client reads of it.
type described struct {
	Name     string  `json:"name"`
	Versions []int64 `json:"versions"` // newest first
	Kinds    []kind  `json:"kinds"`
}

type kind struct {
	Kind   string `json:"kind,omitempty"`
	Agents int    `json:"agents"`
	Obs    string `json:"obs"`
	Action string `json:"action"`
	Masked bool   `json:"masked,omitempty"`
}

func (s *Server) describe() (out []described) {
	for _, p := range s.Policies {
		d := described{Name: p.Name}
		for i, v := range p.versions() {
			d.Versions = append(d.Versions, v.step)
			if i > 0 {
				continue
			}
			for _, s := range v.player.Specs() {
				d.Kinds = append(d.Kinds, kind{s.Kind, max(1, s.Agents), s.Obs.String(), s.Action.String(), s.Masked})
			}
		}
		out = append(out, d)
	}
	return out
}

func reply(w http.ResponseWriter, status int, x any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(x) // a client that has left
}

// fail says what is wrong.
func fail(w http.ResponseWriter, status int, err error) {
	reply(w, status, map[string]string{"error": err.Error()})
}
