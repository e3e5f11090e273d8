package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes a run whose returns go from 0 to top.
func write(t testing.TB, dir, env string, seed int, rate string, lines int, top float64) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("algorithm: ppo\nenv: %s\nseed: %d\nsteps: %d\nset:\n  learning_rate: %s\n  gamma: 0.99\n", env, seed, 100*10, rate)
	var b strings.Builder
	for i := range lines {
		y := top * float64(i+1) / float64(lines)
		fmt.Fprintf(&b, `{"step":%d,"iter":%d,"seconds":%v,"loss/policy":null,"episode/return_mean":%v`, 100*(i+1), i+1, .5*float64(i+1), y)
		if i == lines-1 {
			fmt.Fprintf(&b, `,"eval/return":%v`, y+1)
		}
		b.WriteString("}\n")
	}
	for name, text := range map[string]string{"config.yaml": text, "metrics.jsonl": b.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// folder makes two groups of three seeds, and a run that stopped.
func folder(t *testing.T) string {
	dir := t.TempDir()
	for seed := 1; seed <= 3; seed++ {
		write(t, filepath.Join(dir, "slow", fmt.Sprint("seed", seed)), "CartPole-v1", seed, "0.001", 10, float64(100+seed))
		write(t, filepath.Join(dir, "fast", fmt.Sprint("seed", seed)), "CartPole-v1", seed, "0.01", 10, float64(400+seed))
	}
	write(t, filepath.Join(dir, "stopped"), "Acrobot-v1", 1, "0.001", 4, -80)
	return dir
}

func site(t testing.TB, dirs ...string) (*Site, *httptest.Server) {
	t.Helper()
	s, err := New(dirs, Options{
		Graph: func(context.Context, string) ([]byte, error) {
			return []byte(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30"><text y="20">loop</text></svg>`), nil
		},
		Plan: func(context.Context, []config.Assignment) ([]byte, error) {
			return nil, errors.New("the policy plain has no plan")
		},
		Edges: func(context.Context, []config.Assignment) ([]Edge, error) {
			return []Edge{{"steps", "collector", "learner"}, {"net", "learner", "collector"}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Scan()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		s.End()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, server
}

func get(t testing.TB, address string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func decoded[T any](t *testing.T, address string) (out T) {
	t.Helper()
	status, body := get(t, address)
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusOK {
		t.Fatalf("%s: status %d, %v:\n%s", address, status, err, body)
	}
	return out
}

// TestTable: the table has every run with its last values, and the settings in which it differs.
func TestTable(t *testing.T) {
	_, server := site(t, folder(t))
	x := decoded[struct {
		Common map[string]string
		Runs   []struct {
			Name                         string
			Steps, Budget                int64
			Seconds, Return, Eval, Value float64
			Live                         bool
			Settings                     map[string]string
		}
	}](t, server.URL+"/api/runs")
	if len(x.Runs) != 7 || x.Common["env"] != "CartPole-v1" || x.Common["gamma"] != "0.99" {
		t.Fatalf("%+v", x)
	}
	fast := x.Runs[1]
	if !strings.HasSuffix(fast.Name, "fast/seed2") || fast.Steps != 1000 || fast.Budget != 1000 || fast.Return != 402 || fast.Eval != 403 || fast.Seconds != 5 || fast.Live {
		t.Errorf("%+v", fast)
	}
	if stopped := x.Runs[6]; stopped.Settings["env"] != "Acrobot-v1" || stopped.Steps != 400 || !stopped.Live {
		t.Errorf("%+v", stopped)
	}
	if len(fast.Settings) > 2 {
		t.Errorf("settings that all have are repeated: %v", fast.Settings)
	}
}

// TestCommon: what most runs have is said once, and what few have with those alone.
func TestCommon(t *testing.T) {
	ppo, dqn := map[string]string{"algorithm": "ppo", "gamma": "0.9"}, map[string]string{"algorithm": "dqn", "gamma": "0.9", "buffer": "9"}
	got := common([]*run{{Settings: ppo}, {Settings: ppo}, {Settings: dqn}})
	if want := map[string]string{"algorithm": "ppo", "gamma": "0.9"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

type answer struct{ Lines []line }

func curves(t *testing.T, server *httptest.Server, query string, ids ...string) []line {
	t.Helper()
	v := url.Values{"run": ids, "metric": {"episode/return_mean"}}
	return decoded[answer](t, server.URL+"/api/curves?"+v.Encode()+query).Lines
}

// TestCurves: curves are drawn against steps or time, smoothed, thinned, and joined by a setting.
func TestCurves(t *testing.T) {
	_, server := site(t, folder(t))
	one := curves(t, server, "", "0:fast/seed1")
	if len(one) != 1 || len(one[0].X) != 10 || one[0].X[9] != 1000 || one[0].Y[9] != 401 {
		t.Errorf("%+v", one)
	}
	if time := curves(t, server, "&x=time", "0:fast/seed1"); time[0].X[9] != 5 {
		t.Errorf("%+v", time)
	}
	if thin := curves(t, server, "&points=6", "0:fast/seed1"); len(thin[0].X) > 6 || thin[0].Y[len(thin[0].Y)-1] != 401 {
		t.Errorf("%+v", thin)
	}
	all := []string{"0:fast/seed1", "0:fast/seed2", "0:fast/seed3", "0:slow/seed1", "0:slow/seed2", "0:slow/seed3"}
	joined := curves(t, server, "&group=learning_rate", all...)
	if len(joined) != 2 || joined[0].Label != "learning_rate=0.001 (3 runs)" || len(joined[0].Runs) != 3 {
		t.Fatalf("%+v", joined)
	}
	last := len(joined[1].Y) - 1
	if joined[1].Y[last] != 402 || joined[1].Low[last] != 401 || joined[1].High[last] != 403 {
		t.Errorf("%v from %v to %v", joined[1].Y[last], joined[1].Low[last], joined[1].High[last])
	}
	for query, want := range map[string]string{
		"run=0:../x": "there is no run", "run=0:fast/seed1&smooth=2": "is not a number from 0 to 0.999", "run=0:fast/seed1&points=x": `points: "x"`,
	} {
		if status, body := get(t, server.URL+"/api/curves?metric=x&"+query); status < 400 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

// TestThin: peaks stay.
func TestThin(t *testing.T) {
	x, y := make([]float64, 1000), make([]float64, 1000)
	for i := range x {
		x[i] = float64(i)
	}
	y[333], y[667] = 9, -9
	a, b := thin(x, y, 50)
	if len(a) > 50 || slices.Max(b) != 9 || slices.Min(b) != -9 || a[0] != 0 || a[len(a)-1] != 999 || !slices.IsSorted(a) {
		t.Errorf("%d points of %v", len(a), b)
	}
}

// TestRun: a run's settings, metrics, log, films, graph and plan are there, or why not.
func TestRun(t *testing.T) {
	dir := folder(t)
	for name, text := range map[string]string{"log.txt": "a worker was lost", "film.gif": "GIF89a", "secret.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, "stopped", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, server := site(t, dir)
	x := decoded[struct {
		Settings       map[string]string
		Metrics, Films []string
		Log            bool
	}](t, server.URL+"/api/run?run=0:stopped")
	if x.Settings["learning_rate"] != "0.001" || !slices.Contains(x.Metrics, "loss/policy") || !slices.Equal(x.Films, []string{"film.gif"}) || !x.Log {
		t.Errorf("%+v", x)
	}
	for path, want := range map[string]string{
		"file?run=0:stopped&name=log.txt": "a worker was lost", "file?run=0:stopped&name=film.gif": "GIF89a", "graph?run=0:stopped": "<svg",
		"plan?run=0:stopped": "the policy plain has no plan", "file?run=0:stopped&name=secret.txt": "no file",
	} {
		if _, body := get(t, server.URL+"/api/"+path); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// TestConfined: no request leaves the folders, by a path or by a link.
func TestConfined(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "run"), "CartPole-v1", 1, "0.1", 3, 5)
	dir := folder(t)
	if err := os.Symlink(filepath.Join(outside, "run"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "stopped", "metrics.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "stopped", "metrics.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "stopped", "log.txt")); err != nil {
		t.Fatal(err)
	}
	s, server := site(t, dir)
	runs, _ := s.list()
	for _, r := range runs {
		if strings.Contains(r.Name, "away") {
			t.Errorf("a link led out of the folder: %s", r.Name)
		}
	}
	for _, path := range []string{
		"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/file?run=0:stopped&name=log.txt", "/api/file?run=0:stopped&name=../../../etc/passwd",
		"/api/file?run=0:../../etc&name=passwd", "/api/curves?run=0:stopped&metric=root",
	} {
		if _, body := get(t, server.URL+path); strings.Contains(body, "root:") {
			t.Errorf("%s leads out of the folder:\n%s", path, body)
		}
	}
}

// TestEvents: a run that goes on is told of.
func TestEvents(t *testing.T) {
	dir := folder(t)
	s, server := site(t, dir)
	_, known := s.list()
	answer, err := http.Get(server.URL + "/api/events?after=" + fmt.Sprint(known))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	if !lines.Scan() || lines.Text() != ": still here" {
		t.Fatalf("%q", lines.Text())
	}
	write(t, filepath.Join(dir, "stopped"), "Acrobot-v1", 1, "0.001", 6, -80)
	s.Scan()
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			if data != `["0:stopped"]` {
				t.Errorf("told of %s", data)
			}
			break
		}
	}
}

// TestRestarted: a page that an earlier program has shown is told what there is now.
func TestRestarted(t *testing.T) {
	dir := folder(t)
	before, _ := site(t, dir)
	_, known := before.list()
	_, server := site(t, dir)
	answer, err := http.Get(server.URL + "/api/events?after=" + fmt.Sprint(known))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data: ") {
			break
		}
		if strings.HasPrefix(lines.Text(), ":") {
			t.Fatal("it is told of no change")
		}
	}
	if !strings.Contains(lines.Text(), `"0:stopped"`) {
		t.Errorf("told of %s", lines.Text())
	}
}

// TestGone: a run that is removed is not in the table any more.
func TestGone(t *testing.T) {
	dir := folder(t)
	s, _ := site(t, dir)
	_, before := s.list()
	if err := os.RemoveAll(filepath.Join(dir, "slow")); err != nil {
		t.Fatal(err)
	}
	s.Scan()
	if runs, now := s.list(); len(runs) != 4 || now == before {
		t.Errorf("%d runs, %d changes", len(runs), now)
	}
	s.Scan()
	if _, again := s.list(); again != before+1 {
		t.Errorf("%d changes of nothing", again-before-1)
	}
}

// TestPage: the page and what it names are there, and it may load nothing from elsewhere.
func TestPage(t *testing.T) {
	_, server := site(t, folder(t))
	answer, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if policy := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'self'") {
		t.Errorf("policy %q", policy)
	}
	for _, name := range []string{"app.js", "chart.js", "details.js", "table.js", "style.css", "icon.svg"} {
		if status, body := get(t, server.URL+"/"+name); status != http.StatusOK || strings.Contains(body, "https://") {
			t.Errorf("%s: status %d, or it names another site", name, status)
		}
	}
}

// TestNoFolder: a folder that is not there is an error that names it.
func TestNoFolder(t *testing.T) {
	if _, err := New([]string{filepath.Join(t.TempDir(), "runs")}, Options{}); err == nil || !strings.Contains(err.Error(), "runs cannot be shown") {
		t.Error(err)
	}
}

// BenchmarkScan reads a thousand runs anew, and again when nothing has changed.
func BenchmarkScan(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		run := filepath.Join(dir, fmt.Sprint("run", i))
		if err := os.MkdirAll(run, 0o755); err != nil {
			b.Fatal(err)
		}
		line := []byte(`{"step":1,"iter":1,"seconds":1,"episode/return_mean":1}` + "\n")
		if err := errors.Join(os.WriteFile(filepath.Join(run, "config.yaml"), []byte("algorithm: ppo\nenv: x\n"), 0o644),
			os.WriteFile(filepath.Join(run, "metrics.jsonl"), line, 0o644), os.Chtimes(filepath.Join(run, "metrics.jsonl"), time.Time{}, time.Unix(1, 0))); err != nil {
			b.Fatal(err)
		}
	}
	s, err := New([]string{dir}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		s.Scan()
	}
}

// TestTraffic: the newest lines of a record say what crosses between groups, and where.
func TestTraffic(t *testing.T) {
	dir := folder(t)
	line := `{"step":%d,"iter":%d,"seconds":1,"edge/steps/messages":2,"edge/steps/bytes":%d,"edge/steps/wait":0.25,"edge/steps/depth":%d,"group/learner/busy":0.75,"group/learner/wait":0.25}` + "\n"
	text := fmt.Sprintf(line, 100, 1, 1000, 3) + fmt.Sprintf(line, 200, 2, 3000, 1)
	if err := os.WriteFile(filepath.Join(dir, "stopped", "metrics.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, server := site(t, dir)
	got := decoded[traffic](t, server.URL+"/api/traffic?run=0:stopped")
	want := traffic{
		Lines: 2, Edges: []edgeTraffic{{Edge: Edge{"steps", "collector", "learner"}, Messages: 2, Bytes: 2000, Wait: .25, Depth: 3}},
		Groups: []groupTime{{"learner", .75, .25}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if !decoded[struct{ Split bool }](t, server.URL+"/api/run?run=0:stopped").Split || decoded[struct{ Split bool }](t, server.URL+"/api/run?run=0:fast/seed1").Split {
		t.Error("a run that is split is not known")
	}
}

// profiled is a profile of one replica.
const profiled = `{"version":1,"policy":"plain","replicas":[{"group":"loop","rank":0,"cores":2,"iterations":1,"seconds":1,"other":0.5,
"operations":[{"class":"environment","name":"CartPole step","calls":1,"seconds":0.5}],
"spans":[{"name":"CartPole step","class":"environment","begin":1000,"seconds":0.25},{"name":"CartPole step","class":"environment","begin":500001000,"seconds":0.25}]}]}`

// TestProfile: a profile is shown as bars, as a timeline, as text and as a file.
func TestProfile(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "stopped", profileFile), []byte(profiled), 0o644); err != nil {
		t.Fatal(err)
	}
	_, server := site(t, dir)
	for as, want := range map[string]string{
		"bars": "<svg", "timeline": "<title>CartPole step 250 ms</title>", "text": "environment steps", "trace": `"traceEvents"`, "": "bars, timeline, text or trace",
	} {
		if _, body := get(t, server.URL+"/api/profile?run=0:stopped&as="+as); !strings.Contains(body, want) {
			t.Errorf("%s: %s", as, body)
		}
	}
	if status, body := get(t, server.URL+"/api/profile?run=0:fast/seed1&as=bars"); status != http.StatusNotFound || !strings.Contains(body, "without --profile") {
		t.Errorf("%d %s", status, body)
	}
}

// TestCluster: the page has what the cluster last said, and a change is told.
func TestCluster(t *testing.T) {
	s, server := site(t, folder(t))
	if status, _ := get(t, server.URL+"/api/cluster"); status != http.StatusNotFound {
		t.Error(status)
	}
	say := Cluster{Coordinator: "a:1", Workers: []Worker{{Name: "w0", State: "idle"}}}
	var trouble error
	s.Cluster = func(context.Context) (Cluster, error) { return say, trouble }
	_, before := s.list()
	s.lookAround(t.Context())
	s.lookAround(t.Context())
	if got := decoded[Cluster](t, server.URL+"/api/cluster"); !reflect.DeepEqual(got.Workers, say.Workers) {
		t.Errorf("%+v", got)
	}
	if _, now := s.list(); now != before+1 {
		t.Errorf("%d changes", now-before)
	}
	trouble = errors.New("connection refused")
	s.lookAround(t.Context())
	if got := decoded[Cluster](t, server.URL+"/api/cluster"); got.Trouble != "connection refused" {
		t.Errorf("%+v", got)
	}
}
