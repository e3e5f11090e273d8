package project

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// sabotages are faults as changes of any program. One that only tells replicas
// apart needs several, one of graphs needs them fused.
var sabotages = []struct {
	name, find, replace string
	several, fused      bool
}{
	{"copy left out", "edge.Publish( edge.Fetch(", "fault.Publish( fault.Fetch(", false, false},
	{"stale fetch", "edge.Publish( edge.Fetch(", "fault.PublishLate( fault.FetchLate(", false, false},
	{"gather reversed", "edge.Gathered[", "fault.Gathered[", false, false},
	{"local random index", "run.Key(", "fault.Key(run,", true, false},
	{"observation buffer reused", "t.Env.Step(", "fault.Step(t.Env,", false, false},
	{"gradients not summed", "edge.AllReduce(", "fault.AllReduce(", true, false},
	{"result of a graph dropped", "edge.Fused(", "fault.Fused(", false, true},
	{"position of a graph's draws", "edge.KeyAt(", "fault.KeyAt(", false, true},
}

// perFault is how many programs each of them is put into.
const perFault = 4

// sabotage is a fault in the programs of one job of a specimen.
type sabotage struct {
	fault, specimen, job int
	program              program
	run                  job
}

// sabotaged returns specimens with faults.
func sabotaged(all []specimen) (out []sabotage) {
	for k, f := range sabotages {
		n := 0
		for j, s := range all {
			for i := 1; i < len(s.jobs) && n < perFault; i++ {
				file := "_" + s.jobs[i].Grouping + ".go"
				text := s.program.files[file]
				words, now := strings.Fields(f.find), strings.Fields(f.replace)
				if !bytes.Contains(text, []byte(words[0])) || f.several && s.jobs[i].Shards == 1 || f.fused && !s.jobs[i].Fuse {
					continue
				}
				for w := range words {
					text = bytes.ReplaceAll(text, []byte(words[w]), []byte(now[w]))
				}
				text = bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t\""+faulty+"\"\n"), 1)
				x := sabotage{k, j, i, s.program, s.jobs[i]}
				x.program.name = fmt.Sprintf("%sf%di%d", s.program.name, k, i)
				x.program.made = []string{s.jobs[i].Grouping}
				x.program.files = map[string][]byte{"_.go": s.source, file: text}
				x.run.Loop, x.run.Patience = x.program.name, 20
				out = append(out, x)
				n++
			}
		}
	}
	return out
}

// carry returns the programs and the runs of faults.
func carry(list []sabotage) (programs []program, jobs []job) {
	for _, x := range list {
		programs, jobs = append(programs, x.program), append(jobs, x.run)
	}
	return programs, jobs
}

// noticed sees that every fault was, somewhere.
func noticed(t *testing.T, list []sabotage, ran []results, got []outcome) {
	tried, seen := make([]int, len(sabotages)), make([]int, len(sabotages))
	for k, x := range list {
		r := ran[x.specimen]
		if r.still() {
			continue
		}
		tried[x.fault]++
		if r.wrong(x.job, r.got[0], got[k], r.reference[x.job]) != "" {
			seen[x.fault]++
		}
	}
	for k, f := range sabotages {
		t.Logf("%s: noticed in %d of %d programs", f.name, seen[k], tried[k])
		if seen[k] == 0 && tried[k] >= perFault-1 { // one of the loops may not move
			t.Errorf("%s: nothing was noticed", f.name)
		}
	}
}
