package profile_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/profile"
	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// did is how a replica of a planted run spent a second, by kind of operation, and for which
// replicas it waited on edge 0.
type did struct {
	ops   map[string]float64
	waits map[int]float64
}

// kinds are in the order in which replicas do them.
var kinds = []string{"env.Batch.Step", "rl.Func.Call", "replay.Table.Sample", "rl.Loss.Grad", "rl.Opt.Apply"}

// planted returns the profile of collectors and a learner, the last replica, that did these things
// for a second each, on machines with so many cores.
func planted(cores int, all ...did) *profile.Profile {
	p := plan.Plan{
		Policy: "single-learner-coarse", Shards: len(all) - 1,
		Grouping: plan.Grouping{Groups: []plan.Group{{Name: "collector"}, {Name: "learner"}}},
		Edges:    []plan.Edge{{Name: "steps", From: "collector", To: "learner"}},
	}
	var tallies []timing.Tally
	for i, d := range all {
		r := plan.Replica{Group: "collector", Rank: i, Worker: i}
		if i == len(all)-1 {
			r = plan.Replica{Group: "learner"}
		}
		p.Replicas = append(p.Replicas, r)
		t := timing.Tally{On: true, Host: "here", Cores: cores, Iterations: 10, Wall: 1e9, Edges: make([]timing.Edge, 5)}
		for _, k := range kinds {
			if s := d.ops[k]; s > 0 {
				t.Operations = append(t.Operations, timing.Operation{Kind: k, Name: "x", Count: 10, Nanos: int64(s * 1e9)})
			}
		}
		t.Edges[0] = timing.Edge{Operators: 10, Sent: 10, Bytes: 41_0240}
		for _, peer := range slices.Sorted(keys(d.waits)) {
			t.Edges[0].Waits = append(t.Edges[0].Waits, timing.Wait{Peer: peer, Nanos: int64(d.waits[peer] * 1e9)})
		}
		tallies = append(tallies, t)
	}
	return profile.Make(p, tallies, timing.Cost{})
}

func keys(m map[int]float64) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

type (
	ops   = map[string]float64
	waits = map[int]float64
)

// TestPlanted: the profile names what was planted, before anything else.
func TestPlanted(t *testing.T) {
	const env, act, grad = "env.Batch.Step", "rl.Func.Call", "rl.Loss.Grad"
	for _, test := range []struct {
		name  string
		p     *profile.Profile
		cause profile.Cause
		names string
	}{
		{"a slow environment", planted(8,
			did{ops{env: .85, act: .05}, waits{2: .1}}, did{ops{env: .86, act: .04}, waits{2: .1}}, did{ops{grad: .08}, waits{0: .5, 1: .4}}),
			profile.SlowWork, "environment steps"},
		{"a slow link", planted(8,
			did{ops{env: .1, act: .1}, waits{2: .8}}, did{ops{env: .1, act: .1}, waits{2: .8}}, did{ops{grad: .15}, waits{0: .45, 1: .4}}),
			profile.SlowLink, "edge steps"},
		{"a starved learner", planted(8,
			did{ops{env: .35, act: .35, "replay.Table.Sample": .25}, waits{2: .05}}, did{ops{env: .35, act: .35, "replay.Table.Sample": .25}, waits{2: .05}},
			did{ops{grad: .05}, waits{0: .45, 1: .5}}),
			profile.Starved, "learner 0 waits"},
		{"a straggler", planted(8,
			did{ops{env: .15, act: .15}, waits{3: .7}}, did{ops{env: .45, act: .45}, waits{3: .1}}, did{ops{env: .15, act: .15}, waits{3: .7}}, did{ops{grad: .08}, waits{1: .92}}),
			profile.Straggler, "collector 1"},
		{"one core for four replicas", planted(1,
			did{ops{env: .4, act: .4}, waits{3: .2}}, did{ops{env: .4, act: .4}, waits{3: .2}}, did{ops{env: .4, act: .4}, waits{3: .2}}, did{ops{grad: .2, act: .2}, waits{0: .6}}),
			profile.Oversubscribed, "it has 1"},
	} {
		if err := test.p.Check(); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		found := test.p.Findings()
		if len(found) == 0 || found[0].Cause != test.cause || !strings.Contains(found[0].Text, test.names) {
			t.Errorf("%s: %+v", test.name, found)
		}
	}
}

// TestGolden: the tables, bars and timeline of a profile.
func TestGolden(t *testing.T) {
	p := planted(4, did{ops{"env.Batch.Step": .5, "rl.Func.Call": .2}, waits{1: .3}}, did{ops{"rl.Loss.Grad": .25, "rl.Opt.Apply": .05}, waits{0: .7}})
	p.Algorithm, p.Env, p.Overhead = "ppo", "CartPole-v1", profile.Overhead{PerEvent: 90 * time.Nanosecond, Part: .0042}
	for name, write := range map[string]func(io.Writer) error{"profile.txt": p.Print, "profile.svg": p.WriteSVG} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		path := "testdata/" + name
		if *update {
			if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s:\n%s", name, b.String())
		}
		if strings.HasSuffix(name, "svg") {
			if err := xml.Unmarshal(b.Bytes(), new(struct{})); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSubtracted: what recording costs is in no time, and is stated.
func TestSubtracted(t *testing.T) {
	p := plan.Plan{Replicas: []plan.Replica{{Group: "all"}}}
	tally := timing.Tally{
		On: true, Iterations: 1, Wall: 1_000_000, Events: 1000,
		Operations: []timing.Operation{{Kind: "env.Batch.Step", Name: "x", Count: 1000, Nanos: 500_000}},
	}
	got := profile.Make(p, []timing.Tally{tally}, timing.Cost{Pair: 100, Inside: 40})
	r := got.Replicas[0]
	near := func(a, b float64) bool { return a > b*.999 && a < b*1.001 }
	if !near(r.Seconds, 900e-6) || !near(r.Operations[0].Seconds, 460e-6) || !near(r.Other, 440e-6) || !near(got.Overhead.Part, .1) {
		t.Errorf("%+v, %+v", r, got.Overhead)
	}
}

// TestTrace: the timeline has a thread for every replica, and microseconds from the first span on.
func TestTrace(t *testing.T) {
	tally := timing.Tally{
		On: true, Iterations: 1, Wall: 3000,
		Operations: []timing.Operation{{Kind: "env.Batch.Step", Name: "CartPole", Count: 1, Nanos: 2000}},
		Spans:      []timing.Span{{Begin: 5000, Nanos: 2000}, {Begin: 7000, Nanos: 1000}},
	}
	var b bytes.Buffer
	if err := profile.Make(plan.Plan{}, []timing.Tally{tally}, timing.Cost{}).WriteTrace(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		TraceEvents []struct {
			Name, Cat, Ph string
			Ts, Dur       float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	last := got.TraceEvents[len(got.TraceEvents)-1]
	if len(got.TraceEvents) != 4 || last.Name != "CartPole step" || last.Cat != "environment" || last.Ph != "X" || last.Ts != 2 || last.Dur != 1 {
		t.Errorf("%+v", got)
	}
}

// TestCheck: a profile that does not add up, or that recorded nothing, is refused with all reasons.
func TestCheck(t *testing.T) {
	p := planted(4, did{ops{"env.Batch.Step": .5}, waits{1: .3}}, did{ops{"rl.Loss.Grad": .25}, waits{0: .7}})
	p.Replicas[0].Iterations, p.Replicas[0].Other = 0, .9
	p.Replicas[1].Edges[0].Waits[0].For = 7
	p.Replicas[1].Edges[0].Edge = 3
	err := p.Check()
	for _, want := range []string{"collector 0 recorded no iteration", "collector 0 has 1.7 s in parts and 1 s in all", "learner 0 waits for replica 7 of 2", "learner 0 uses edge 3 of 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
