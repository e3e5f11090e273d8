package chaos

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/weft-rl/weft/internal/metrics"
)

// reference is an undisturbed run.
type reference struct {
	ended
	rows []metrics.Row
}

// check compares a run that has ended with what it should be.
func (t *trial) check(end ended) (errs []error) {
	if end.Event != "done" {
		return []error{fmt.Errorf("it ended with %s: %s", end.Event, end.Error)}
	}
	folder := filepath.Join(t.cluster.runs(), t.name)
	rows, err := metrics.ReadJSONL(filepath.Join(folder, "metrics.jsonl"))
	errs = append(errs, err, inOrder(rows, end.Steps))
	if t.run.Async {
		errs = append(errs, exact(rows, t.run))
	}
	if w := t.want; w != nil {
		if end.WeightsSHA256 != w.WeightsSHA256 || end.StateSHA256 != w.StateSHA256 || end.Steps != w.Steps {
			errs = append(errs, fmt.Errorf("it ends with weights %.12s and state %.12s after %d steps; undisturbed with %.12s and %.12s after %d",
				end.WeightsSHA256, end.StateSHA256, end.Steps, w.WeightsSHA256, w.StateSHA256, w.Steps))
		}
		if end.ReturnMean != w.ReturnMean {
			errs = append(errs, fmt.Errorf("it ends with a mean return of %v, undisturbed with %v", end.ReturnMean, w.ReturnMean))
		}
		errs = append(errs, same(rows, w.rows))
	}
	return append(errs, tidy(folder))
}

// inOrder checks that every iteration is recorded once, in order, up to the last step, and
// evaluated at most once.
func inOrder(rows []metrics.Row, steps int64) error {
	iter, step, evaluated := int64(0), int64(0), int64(-1)
	for i, r := range rows {
		if evaluation(r) && r.Iter == iter && r.Step == step && evaluated < step {
			evaluated = step
			continue
		}
		if r.Iter != iter+1 || r.Step <= step {
			return fmt.Errorf("line %d of the record is of iteration %d and step %d, after iteration %d and step %d", i+1, r.Iter, r.Step, iter, step)
		}
		iter, step = r.Iter, r.Step
	}
	if step != steps {
		return fmt.Errorf("the record ends with step %d of %d", step, steps)
	}
	return nil
}

// exact checks that an asynchronous run has counted whole iterations of environments, and
// has ended with the one that it was asked for.
func exact(rows []metrics.Row, run Run) error {
	before := int64(0)
	for i, r := range rows {
		if evaluation(r) {
			continue
		}
		if r.Step%run.Unit != 0 || before >= run.Steps {
			return fmt.Errorf("line %d of the record is of step %d, after step %d of %d, and an environment's iteration is %d", i+1, r.Step, before, run.Steps, run.Unit)
		}
		before = r.Step
	}
	if before < run.Steps {
		return fmt.Errorf("the record ends with step %d, and %d are asked for", before, run.Steps)
	}
	return nil
}

func evaluation(r metrics.Row) bool {
	return len(r.Values) > 0 && strings.HasPrefix(r.Values[0].Name, "eval/")
}

// same checks that two records have the same numbers, except those that are about time or
// about how the work was shared out.
func same(got, want []metrics.Row) error {
	if len(got) != len(want) {
		return fmt.Errorf("the record has %d lines, undisturbed it has %d", len(got), len(want))
	}
	for i, w := range want {
		has := map[string]float64{}
		for _, v := range got[i].Values {
			has[v.Name] = v.X
		}
		for _, v := range w.Values {
			if shared(v.Name) {
				continue
			}
			if x, ok := has[v.Name]; !ok || math.Float64bits(x) != math.Float64bits(v.X) {
				return fmt.Errorf("line %d of the record (step %d) has %s %v, undisturbed it has %v", i+1, w.Step, v.Name, x, v.X)
			}
		}
	}
	return nil
}

func shared(name string) bool {
	group, _, _ := strings.Cut(name, "/")
	return group == "run" || group == "edge" || group == "group"
}

// belongs lists the files that a run's folder may hold.
var belongs = regexp.MustCompile(`^(config\.yaml|metrics(\.\d{6})?\.jsonl|epoch\.json|committed\.json|log\.txt|events\.out\.tfevents\.[^/]+|\.submission|\.lock|best\.epoch-\d+\.safetensors|step-\d+\.epoch-\d+(\.[0-9a-f]+)?\.safetensors)$`)

// tidy checks that nothing half-written is left.
func tidy(folder string) error {
	all, err := os.ReadDir(folder)
	errs := []error{err}
	for _, x := range all {
		if !belongs.MatchString(x.Name()) {
			errs = append(errs, fmt.Errorf("%s is left in the run's folder", x.Name()))
		}
	}
	return errors.Join(errs...)
}
