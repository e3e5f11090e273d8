package runner

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/rl"
)

// learnt returns a run's metrics without those of edges and groups.
func learnt(t *testing.T, dir string) []metrics.Row {
	all := rows(t, dir)
	for i := range all {
		all[i].Values = slices.DeleteFunc(all[i].Values, func(v metrics.Value) bool {
			return strings.HasPrefix(v.Name, "edge/") || strings.HasPrefix(v.Name, "group/")
		})
	}
	return all
}

// TestLeave: a loop that is left ends its run alike under every plan: what its last
// iteration did counts, the newest checkpoint holds it, and to resume changes nothing.
func TestLeave(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			plain := quits(t, way, 0)
			want := train(t, plain)
			record := learnt(t, plain.Dir)
			if ends := way == never || way == inner || way == behind || way == second; ends != (want.Steps >= 256) {
				t.Fatalf("it ended after %d steps", want.Steps)
			}
			for k := range 3 {
				j := quits(t, way, k)
				if k > 0 {
					sameBits(t, train(t, j), want)
				} else {
					j = plain
				}
				if got := learnt(t, j.Dir); !reflect.DeepEqual(got, record) {
					t.Errorf("%d collectors: metrics\n%v, want\n%v", k, got, record)
				}
				checkKept(t, j, want)
				for other := range 3 { // under this plan and the others
					more := again(j)
					more.Plan = quits(t, way, other).Plan
					sameBits(t, resumeTwice(t, more), want)
					if got := learnt(t, j.Dir); !reflect.DeepEqual(got, record) { // iterations of one step included
						t.Errorf("resumed, the metrics are\n%v, want\n%v", got, record)
					}
				}
			}
		})
	}
}

// TestSecondResumed: a run with second environments goes on exactly, under other plans.
func TestSecondResumed(t *testing.T) {
	want := train(t, quits(t, second, 0))
	for k := range 3 {
		half := quits(t, second, k)
		half.Steps = 128
		train(t, half)
		rest := again(half)
		rest.Steps, rest.Plan = 256, quits(t, second, 2-k).Plan
		sameBits(t, train(t, rest), want)
	}
}

// checkKept checks that the newest checkpoint is that of the end.
func checkKept(t *testing.T, j Job, want Result) {
	t.Helper()
	s, err := Prepare(again(j))
	if err != nil {
		t.Fatal(err)
	}
	if s.Done() != want.Steps || s.run.Iter() != want.Iter || !s.Finished() {
		t.Errorf("the checkpoint is of step %d, iteration %d, finished %v, want %d, %d", s.Done(), s.run.Iter(), s.Finished(), want.Steps, want.Iter)
	}
	got, err := s.Finish()
	if err != nil {
		t.Fatal(err)
	}
	sameBits(t, got, want)
}

// resumeTwice trains a finished run, as an owed evaluation would, and again.
func resumeTwice(t *testing.T, j Job) Result {
	t.Helper()
	before := fmt.Sprint(files(t, j))
	train(t, j)
	r := train(t, j)
	if after := fmt.Sprint(files(t, j)); after != before {
		t.Errorf("checkpoints %v became %v", before, after)
	}
	return r
}

// TestLeaveCounts: the iteration that was left is reported as one that Next ended.
func TestLeaveCounts(t *testing.T) {
	left := quits(t, bottom, 0)
	train(t, left)
	whole := quits(t, never, 0)
	whole.Steps = 3 * 4 * 8
	train(t, whole)
	if got, want := learnt(t, left.Dir), learnt(t, whole.Dir); !reflect.DeepEqual(got, want) {
		t.Errorf("metrics\n%v, want\n%v", got, want)
	}
}

// TestLeaveDisagree: replicas that do not leave the loop together are an error.
func TestLeaveDisagree(t *testing.T) {
	j := quits(t, never, 2)
	built := 0
	j.Algorithm = algo.Define("quitter", "", nil, func(s *rl.Scope, make algo.MakeEnv, way *string) (rl.Trainer, error) {
		mine := never
		if built++; built == 3 { // after that for the plan, and the first collector's
			mine = bottom
		}
		return newQuitter(s, make, &mine)
	})
	_, err := Train(t.Context(), j)
	if err == nil || !strings.Contains(err.Error(), "collector 1 left the training loop, and learner 0") {
		t.Fatalf("it ended with %v", err)
	}
}

// TestStandsStill: a run whose replicas all wait for each other ends with an error that says who
// waits for what, and leaves its checkpoint.
func TestStandsStill(t *testing.T) {
	j := quits(t, hangs, 2)
	j.CheckpointSteps = 1
	_, err := Train(t.Context(), j)
	for _, want := range []string{
		"the run stands still", `collector 0 for send "x" from learner to collector`, `collector 1 for send`,
		"learner 0 for the meeting of all replicas at the end of an iteration", "(the checkpoint of step 64 is good)",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it ended with %v, want %q", err, want)
		}
	}
}

// TestEdgesOfOneName: metrics of edges that have the same name are told apart.
func TestEdgesOfOneName(t *testing.T) {
	j := quits(t, never, 1)
	train(t, j)
	var names []string
	for _, v := range rows(t, j.Dir)[4].Values {
		if strings.HasSuffix(v.Name, "/messages") {
			names = append(names, v.Name)
		}
	}
	if want := []string{"edge/x/messages", "edge/x#2/messages", "edge/x#3/messages"}; !slices.Equal(names, want) {
		t.Errorf("metrics %v, want %v", names, want)
	}
}
