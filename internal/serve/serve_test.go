package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(device.Tests{M: m}) }

// trained trains an algorithm for a moment.
func trained(t testing.TB, algorithm, env string, set ...string) string {
	t.Helper()
	all := weft.Builtin()
	a, err := all.Algorithm(algorithm)
	if err != nil {
		t.Fatal(err)
	}
	a.Presets = nil
	e, err := algotest.Environment(all, env)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if _, err := app.Train(context.Background(), app.Job{Algorithm: a, Env: e, Set: append([]string{"envs=4"}, set...), Steps: 128, Seed: 1, Out: dir}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// loader loads the newest weights of a folder, under steps that a test says.
type loader struct {
	dir   string
	steps []int64
	err   error
	at    int
}

func (l *loader) Stamp() string { return fmt.Sprint(l.at) }

func (l *loader) Load(ctx context.Context) (*runner.Player, int64, error) {
	if l.err != nil {
		return nil, 0, l.err
	}
	set := weft.Builtin()
	r, err := set.Saved(l.dir, nil)
	if err != nil {
		return nil, 0, err
	}
	j, err := r.Job()
	if err != nil {
		return nil, 0, err
	}
	j.Dir, j.Watch = l.dir, runner.Silent{}
	p, _, _, err := runner.LoadPlayer(ctx, j, runner.NewestAlone)
	return p, l.steps[min(l.at, len(l.steps)-1)], err
}

func server(t testing.TB, l *loader, keep int) (*serve.Server, *httptest.Server) {
	t.Helper()
	p, err := serve.New(t.Context(), "cart", l, keep)
	if err != nil {
		t.Fatal(err)
	}
	s := &serve.Server{Policies: []*serve.Policy{p}}
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		h.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, h
}

func post(t testing.TB, url, body string) (int, string) {
	t.Helper()
	a, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, strings.TrimSpace(string(text))
}

// TestAct: the server answers as the agent acts, one by one, in lists, and many at once.
func TestAct(t *testing.T) {
	dir := trained(t, "ppo", "CartPole-v1", "hidden=8", "horizon=8")
	s, h := server(t, &loader{dir: dir, steps: []int64{128}}, 1)
	agent, err := weft.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	obs := make([][]float64, 64)
	want := make([]string, len(obs))
	for i := range obs {
		obs[i] = []float64{float64(i)/20 - 1, 1 - float64(i)/15, float64(i%7)/50 - .05, float64(i%5) - 2}
		a, err := agent.Act(obs[i])
		if err != nil {
			t.Fatal(err)
		}
		want[i] = fmt.Sprintf(`{"action":%v,"version":128}`, a[0])
	}
	var all sync.WaitGroup
	for i, x := range obs {
		all.Go(func() {
			text, _ := json.Marshal(map[string]any{"obs": x})
			if status, got := post(t, h.URL+"/v1/act", string(text)); status != http.StatusOK || got != want[i] {
				t.Errorf("observation %d: %d %s, want %s", i, status, got, want[i])
			}
		})
	}
	all.Wait()
	var rows []map[string]any
	for _, x := range obs {
		rows = append(rows, map[string]any{"obs": x})
	}
	text, _ := json.Marshal(rows)
	if status, got := post(t, h.URL+"/v1/policies/cart/act", string(text)); status != http.StatusOK || got != "["+strings.Join(want, ",")+"]" {
		t.Errorf("%d %s", status, got)
	}
	x := s.Stats()[0]
	if x.Requests[http.StatusOK] != 65 || x.Rows != 128 || x.Batches > 128 || x.Version != 128 {
		t.Errorf("%+v", x)
	}
}

// TestBad: what is wrong with a request is said in a sentence.
func TestBad(t *testing.T) {
	_, h := server(t, &loader{dir: trained(t, "ppo", "CartPole-v1", "hidden=8", "horizon=8"), steps: []int64{128}}, 1)
	for body, want := range map[string]string{
		`{"obs": [1, 2, 3]}`:                                    "400 the observation has 3 numbers, not 4",
		`{"obs": [0, 0, 0, 1e300]}`:                             "400 number 3 of the observation is 1e+300, which is not in",
		`{"obs": [1, 2, 3, "x"]}`:                               "400 the request is not of the form",
		`{"obs": {"speed": [1]}}`:                               "400 the observation lacks",
		`{"observation": [1, 2, 3, 4]}`:                         `unknown field \"observation\"`,
		`{}`:                                                    `400 the request has no \"obs\"`,
		`obs`:                                                   "400 the request is not of the form",
		`{"obs": [0,0,0,0], "legal": [true]}`:                   "400 masks of legal actions were given",
		`{"obs": [0,0,0,0], "version": 7}`:                      "404 policy cart has no version 7: there are [128]",
		`{"obs": [0,0,0,0], "memory": [1]}`:                     "400 the memory has 1 parts, not 0",
		`{"kinds": {"a": {"obs": [0]}}}`:                        "400 the request has 1 kinds of agents, the policy acts for one",
		`[{"obs": [0,0,0,0]}, {"obs": [0,0,0]}]`:                "400 request 1: the observation has 3 numbers",
		`{"obs": [0,0,0,0]} {"obs": [0,0,0,0]}`:                 "400 the request is not of the form",
		"[" + strings.Repeat(`{"obs":[]},`, 64) + `{"obs":[]}]`: "400 65 requests in one",
	} {
		status, got := post(t, h.URL+"/v1/act", body)
		var said struct{ Error string }
		if err := json.Unmarshal([]byte(got), &said); err != nil {
			t.Errorf("%s: %s is not JSON", body, got)
		}
		if text := fmt.Sprint(status, " ", said.Error); !strings.Contains(text, strings.ReplaceAll(want, `\"`, `"`)) {
			t.Errorf("%.60s: %s, want %s", body, text, want)
		}
	}
	if status, got := post(t, h.URL+"/v1/policies/cort/act", "{}"); status != http.StatusNotFound || !strings.Contains(got, "there are cart") {
		t.Errorf("%d %s", status, got)
	}
	answer, err := http.Get(h.URL + "/v1/policies")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || !bytes.Contains(text, []byte(`"name":"cart","versions":[128],"kinds":[{"agents":1,"obs":"Box([4])","action":"Discrete(2)"}]`)) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestMemory: a policy with memory gives it to its client and takes it back, and does what an agent
// that remembers by itself does.
func TestMemory(t *testing.T) {
	dir := trained(t, "ppo", "Pendulum-v1", "hidden=8", "horizon=8", "memory=4")
	_, h := server(t, &loader{dir: dir, steps: []int64{1}}, 1)
	agent, err := weft.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	memory := json.RawMessage("null")
	for i := range 20 {
		obs := []float64{float64(i%3) - 1, float64(i%2) - .5, float64(i) / 4}
		want, err := agent.Act(obs)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(map[string]any{"obs": obs, "memory": memory})
		status, got := post(t, h.URL+"/v1/act", string(text))
		var x struct {
			Action []float64
			Memory json.RawMessage
		}
		if err := json.Unmarshal([]byte(got), &x); err != nil || status != http.StatusOK || !slices.Equal(x.Action, want) {
			t.Fatalf("step %d: %d %s, want %v", i, status, got, want)
		}
		memory = x.Memory
	}
}

// TestKinds: several kinds of agents are asked for together.
func TestKinds(t *testing.T) {
	_, h := server(t, &loader{dir: trained(t, "mappo", "Kinds-v0", "hidden=8", "horizon=5"), steps: []int64{1}}, 1)
	status, got := post(t, h.URL+"/v1/act", `{"obs": [1]}`)
	if status != http.StatusBadRequest || !strings.Contains(got, "the request lacks kind") {
		t.Errorf("%d %s", status, got)
	}
}

// TestReload: better weights take the place of the old ones, which stay for a while; weights that
// cannot be loaded change nothing.
func TestReload(t *testing.T) {
	l := &loader{dir: trained(t, "ppo", "CartPole-v1", "hidden=8", "horizon=8"), steps: []int64{1, 2, 3}}
	s, h := server(t, l, 2)
	version := func(ask string) string {
		_, got := post(t, h.URL+"/v1/act", `{"obs": [0,0,0,0]`+ask+`}`)
		_, rest, _ := strings.Cut(got, `"version":`)
		return strings.TrimSuffix(rest, "}")
	}
	for l.at = range 3 {
		if err := s.Policies[0].Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := version(""); got != fmt.Sprint(l.at+1) {
			t.Errorf("version %s after %d reloads", got, l.at)
		}
	}
	if version(`,"version":2`) != "2" || version(`,"version":1`) != "" {
		t.Error("of two versions the newest two are kept")
	}
	l.at, l.err = 3, errors.New("the disk is gone")
	if err := s.Policies[0].Reload(t.Context()); err == nil || version("") != "3" {
		t.Errorf("error %v, version %s", err, version(""))
	}
}

// TestStop: requests under way are answered when a policy is closed.
func TestStop(t *testing.T) {
	l := &loader{dir: trained(t, "ppo", "CartPole-v1", "hidden=8", "horizon=8"), steps: []int64{1}}
	p, err := serve.New(t.Context(), "cart", l, 1)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer((&serve.Server{Policies: []*serve.Policy{p}}).Handler())
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if status, got := post(t, h.URL+"/v1/act", `{"obs": [0,0,0,0]}`); status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Errorf("%d %s", status, got)
			}
		})
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	h.Close()
	http.DefaultClient.CloseIdleConnections()
}

// BenchmarkThousand sends a thousand requests a second, and reports how long the answers took.
func BenchmarkThousand(b *testing.B) {
	_, h := server(b, &loader{dir: trained(b, "ppo", "CartPole-v1", "hidden=64,64", "horizon=8"), steps: []int64{1}}, 1)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	const count = 3000
	took := make([]time.Duration, count)
	for b.Loop() {
		var all sync.WaitGroup
		began := time.Now()
		for i := range count {
			time.Sleep(time.Until(began.Add(time.Duration(i) * time.Millisecond)))
			all.Go(func() {
				sent := time.Now()
				a, err := client.Post(h.URL+"/v1/act", "application/json", strings.NewReader(`{"obs": [0, 0, 0.1, 0]}`))
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, a.Body)
				_ = a.Body.Close()
				took[i] = time.Since(sent)
			})
		}
		all.Wait()
		b.ReportMetric(float64(count)/time.Since(began).Seconds(), "requests/s")
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[count/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[count*99/100].Microseconds()), "p99-µs")
}
