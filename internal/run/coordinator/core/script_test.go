package core

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

var update = flag.Bool("update", false, "write what scripts do into their files")

// TestScripts runs the scripts in testdata: paragraphs of commands, a line ----, and
// what comes of them. Lines that begin with # are remarks.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("%s is now (-update writes it):\n%s", file, got)
			}
		})
	}
}

// play returns a script with its outcomes put in.
func play(t *testing.T, text string) string {
	s := newScript(t)
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		commands, _, found := strings.Cut(block, "\n----")
		out.WriteString(commands + "\n")
		if onlyRemarks(commands) && !found {
			continue
		}
		out.WriteString("----\n")
		for line := range strings.Lines(commands) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				s.command(&out, line)
			}
		}
	}
	return out.String()
}

func onlyRemarks(text string) bool {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// script is a coordinator, what it kept, and what it was told last.
type script struct {
	t        *testing.T
	core     *Core
	kept     map[string][]byte
	order    []string
	sessions int64
	asked    MakePlan
}

func newScript(t *testing.T) *script {
	return &script{t: t, core: New(small), kept: map[string][]byte{}}
}

// small is little patience.
var small = Settings{Grace: 4, Return: 4, Settle: 2, Start: 20, Stall: 40, Patience: 30, Vacancy: 8, Halt: 12, Lived: 10, Retry: 25, Avoid: 10, Doubt: 6, Move: 6, Breaks: 3, Restarts: 4, Keep: 3}

// fields returns the words of a command, what is in quotes being one of them.
func fields(line string) (out []string) {
	for i, piece := range strings.Split(line, `"`) {
		if i%2 == 1 {
			out = append(out, piece)
			continue
		}
		out = append(out, strings.Fields(piece)...)
	}
	return out
}

func (s *script) command(out *strings.Builder, line string) {
	f := fields(line)
	arg := func(i int) string {
		if i >= len(f) {
			s.t.Fatalf("%q lacks something", line)
		}
		return f[i]
	}
	whose := func(worker int) From { // run and epoch, perhaps with a life, are before it
		epoch, life, _ := strings.Cut(arg(2), ".")
		n, err := strconv.ParseInt(epoch, 10, 64)
		m, err2 := strconv.ParseInt("0"+life, 10, 64)
		if err != nil || err2 != nil {
			s.t.Fatalf("%q: %v %v", line, err, err2)
		}
		return From{arg(worker), s.session(arg(worker)), arg(1), n, m}
	}
	number := func(i int) int64 {
		n, err := strconv.ParseInt(arg(i), 10, 64)
		if err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		return n
	}
	has := func(word string) bool { return strings.Contains(" "+line+" ", " "+word+" ") }
	switch f[0] {
	case "state":
		s.core.Print(out)
	case "tick":
		for range number(1) {
			s.step(out, Tick{})
		}
	case "join":
		s.join(out, f[1:])
	case "lost":
		s.step(out, Lost{arg(1), s.session(arg(1))})
	case "silent":
		s.step(out, Silent{arg(1), s.session(arg(1))})
	case "heard":
		s.step(out, Heard{arg(1), s.session(arg(1))})
	case "submit":
		s.step(out, Submitted{Name: arg(1), ID: strings.Join(f[1:], " "), Config: "config of " + arg(1), Programs: brings(f), Ticket: 1})
	case "resume": // with what the folder says, if anything
		again := &part.Committed{}
		if len(f) > 4 {
			again = &part.Committed{Epoch: number(2), Shards: int(number(3)), Last: &part.Manifest{Epoch: number(2), Step: number(4), Object: "x"}}
		}
		s.step(out, Submitted{Name: arg(1), ID: fmt.Sprint("again ", strings.Join(f[1:], " "), s.core.Now), Config: "config of " + arg(1), Programs: brings(f), Ticket: 3, Again: again, Split: has("split"), Lost: has("lost")})
	case "stop":
		s.step(out, StopAsked{arg(1), has("now"), 2})
	case "drain":
		s.step(out, DrainAsked{f[1:], 5})
	case "leave": // the worker asks for it itself
		s.step(out, Leaving{arg(1), s.session(arg(1))})
	case "delete":
		s.step(out, DeleteAsked{arg(1), 4})
	case "record-lost":
		s.step(out, RecordLost{arg(1), arg(2)})
	case "record-gap":
		s.step(out, RecordGap{arg(1), number(2), arg(3)})
	case "plan":
		s.step(out, PlanMade{s.asked.Asked, spread(len(s.asked.Workers), number(1), s.asked.Shards)})
	case "plan-anew": // into as many shards as there are workers
		s.step(out, PlanMade{s.asked.Asked, spread(len(s.asked.Workers), number(1), 0)})
	case "plan-async":
		s.step(out, PlanMade{s.asked.Asked, sparing(spread(len(s.asked.Workers), number(1), s.asked.Shards))})
	case "plan-fails":
		s.step(out, PlanFailed{Asked: s.asked.Asked, Why: arg(1), Short: has("short")})
	case "plan-later":
		s.step(out, PlanFailed{Asked: s.asked.Asked, Why: "it takes long", Later: true})
	case "plan-there":
		s.step(out, PlanThere{arg(1)})
	case "ready":
		for i := range f[3:] {
			s.step(out, PartReady{whose(3 + i)})
		}
	case "failed":
		s.step(out, PartFailed{From: whose(3), Error: arg(4), User: has("user"), Peer: has("peer"), Fault: Fault{Node: has("node"), Program: has("program")}})
	case "unreached": // and whom
		s.step(out, PartFailed{From: whose(3), Error: arg(4), Peer: true, Fault: Fault{Unreached: f[5:]}})
	case "late": // and who
		s.step(out, PartFailed{From: whose(3), Error: arg(4), Peer: true, Fault: Fault{Late: f[5:]}})
	case "broken": // likewise
		s.step(out, PartFailed{From: whose(3), Error: arg(4), Peer: true, Fault: Fault{Broken: f[5:]}})
	case "quiet": // and of whom it hears nothing
		s.step(out, Quiet{whose(3), f[4:]})
	case "done":
		s.step(out, PartDone{whose(3), part.Progress{Steps: number(4), Halted: has("halted")}})
	case "progress":
		s.step(out, Progressed{whose(3), part.Progress{Steps: number(4)}})
	case "commit":
		s.step(out, Committing{whose(3), part.Manifest{Epoch: number(2), Step: number(4)}, 7})
	case "replace":
		s.replace(out, f[1:])
	default:
		s.t.Fatalf("unknown command %q", line)
	}
}

// join has a worker join: its name, then perhaps its process and device, or run,
// epoch and how far it is; at the end, perhaps, its platform and its program.
func (s *script) join(out *strings.Builder, f []string) {
	s.sessions++
	last := func(key string) (value string) {
		if v, has := strings.CutPrefix(f[len(f)-1], key); has {
			f, value = f[:len(f)-1], v
		}
		return value
	}
	program := last("program=")
	platform := last("platform=")
	e := Joined{Worker: Worker{Name: f[0], Session: s.sessions, Instance: "process of " + f[0], Host: "h", Data: f[0] + ":1", Cores: 2, Devices: []string{"cpu"}, Binary: program}}
	if e.Worker.Platform = platform; platform != "" {
		e.Worker.Guest = f[0] + ":2"
	}
	if len(f) == 2 || len(f) == 3 {
		e.Worker.Instance = f[1]
	}
	if len(f) == 3 {
		e.Worker.Devices = f[2:]
	}
	if len(f) > 3 {
		before, after, _ := strings.Cut(f[2], ".")
		epoch, _ := strconv.ParseInt(before, 10, 64)
		life, _ := strconv.ParseInt("0"+after, 10, 64)
		e.Doing = &Doing{Run: f[1], Epoch: epoch, Life: life, Ready: f[3] == "ready", Done: f[3] == "done"}
	}
	s.step(out, e)
}

// brings returns the programs that a submission names, as PLATFORM:HASH.
func brings(f []string) (out []part.Program) {
	for _, word := range f {
		if platform, hash, ok := strings.Cut(word, ":"); ok {
			out = append(out, part.Program{Platform: platform, SHA256: hash, Size: 1})
		}
	}
	return out
}

func (s *script) session(name string) int64 {
	if w := s.core.Worker(name); w != nil {
		return w.Session
	}
	return 0
}

// replace starts a new coordinator, which knows what was kept and thinks the workers
// alive that are named.
func (s *script) replace(out *strings.Builder, alive []string) {
	s.core = New(small)
	var runs []Run
	for _, name := range s.order {
		var r Run
		if err := json.Unmarshal(s.kept[name], &r); err != nil {
			s.t.Fatal(err)
		}
		runs = append(runs, r)
	}
	s.step(out, Loaded{runs, alive})
}

func (s *script) step(out *strings.Builder, e Event) {
	for _, d := range s.core.Step(e) {
		fmt.Fprintln(out, d)
		switch d := d.(type) {
		case Persist:
			text, err := json.Marshal(d.Run)
			if err != nil {
				s.t.Fatal(err)
			}
			if s.kept[d.Run.Name] == nil {
				s.order = append(s.order, d.Run.Name)
			}
			s.kept[d.Run.Name] = text
		case MakePlan:
			s.asked = d
		}
	}
	if err := s.core.Check(); err != nil {
		s.t.Errorf("%T: %v\n%s", e, err, printed(s.core))
	}
}

func printed(c *Core) string {
	var b bytes.Buffer
	c.Print(&b)
	return b.String()
}

// sparing returns a plan that can go on without any worker but the one that decides.
func sparing(p plan.Plan) plan.Plan {
	for i := range p.Replicas {
		p.Replicas[i].Device = "cpu"
	}
	p.Async, p.Groups = true, []plan.Group{{Name: "actor", Over: fdg.Environments}, {Name: "learner", Over: fdg.None}}
	return p
}

// spread returns a plan of one learner and shards, on the first few of n workers.
func spread(n int, few int64, shards int) plan.Plan {
	n = min(n, int(few))
	if shards == 0 {
		shards = n
	}
	p := plan.Plan{Policy: "test", Owner: "learner", Shards: shards, Replicas: []plan.Replica{{Group: "learner", Last: shards}}}
	for i := range shards {
		p.Replicas = append(p.Replicas, plan.Replica{Group: "actor", Rank: i, First: i, Last: i + 1, Worker: i * n / max(n, shards)})
	}
	return p
}
