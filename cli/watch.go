package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/metrics/progress"
	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/runner"
)

// watcher shows a run to its user.
type watcher interface {
	runner.Watcher
	done(runner.Result)
	fail(error)
	evaluated(e runner.Evaluation, greedy bool)
}

func (c *command) watcher(r *request.Request, dir string, asJSON bool) watcher {
	if asJSON {
		return &lines{out: json.NewEncoder(c.out), err: c.err, r: r, dir: dir}
	}
	return &screen{out: c.out, err: c.err, r: r, dir: dir}
}

// screen shows a run to a person.
type screen struct {
	out, err io.Writer
	r        *request.Request
	dir      string
	again    string // argument of weft resume to go on; empty is dir
	bar      *progress.Progress
	shown    bool // a bar, which ends with the run's numbers
}

func (s *screen) Begin(done, total int64) {
	fmt.Fprintf(s.out, "%s, seed %d: %s steps, in %s\n", s.r.Title(), s.r.Seed, metrics.Count(total), s.dir)
	s.bar, s.shown = progress.New(s.out, progress.Options{Total: total, Done: done}), true
}

func (s *screen) Iteration(r runner.Report) {
	snap := progress.Snapshot{Steps: r.Steps, Episodes: r.Episodes, Return: r.Return}
	for _, l := range r.Logs {
		snap.Losses = append(snap.Losses, metrics.Value{Name: plain.Line(l.Name), X: l.X})
	}
	s.bar.Update(snap)
}

func (s *screen) Note(text string) {
	text = plain.Text(text)
	if s.bar != nil {
		s.bar.Note(text)
		return
	}
	fmt.Fprintln(s.out, text)
}

func (s *screen) End() {
	s.bar.Finish()
	s.bar = nil
}

func (s *screen) Evaluating(episodes int) { s.Note(runner.SayEvaluating(episodes)) }

func (s *screen) Evaluated(e runner.Evaluation) {
	s.Note(fmt.Sprintf("step %d: %s", e.Steps, sentence(e, true)))
}

func (s *screen) evaluated(e runner.Evaluation, greedy bool) { s.Note(sentence(e, greedy)) }

func sentence(e runner.Evaluation, greedy bool) string {
	how := "greedy evaluation"
	if !greedy {
		how = "evaluation"
	}
	text := fmt.Sprintf("%s over %d episodes: return %.1f ± %.1f (%.1f to %.1f), length %.1f",
		how, e.Episodes, e.Mean, e.Std, e.Min, e.Max, e.Length)
	if e.Unfinished > 0 {
		text += fmt.Sprintf("; %d more did not end", e.Unfinished)
	}
	return text
}

func (s *screen) done(r runner.Result) {
	if r.Interrupted && r.Steps == 0 {
		fmt.Fprintf(s.out, "interrupted before the first checkpoint: weft resume %s --or-begin begins again\n", cmp.Or(s.again, s.dir))
		return
	}
	if r.Interrupted {
		fmt.Fprintf(s.out, "interrupted after %d steps, saved: weft resume %s goes on\n", r.Steps, cmp.Or(s.again, s.dir))
		return
	}
	if r.Steps > s.r.Steps {
		fmt.Fprintln(s.out, roundedUp(s.r.Steps, r.Steps))
	}
	if !s.shown {
		fmt.Fprintf(s.out, "%d steps, %d episodes, mean return of the last 100: %s\n", r.Steps, r.Episodes, metrics.Number(r.ReturnMean))
	}
	weights := "no weights"
	if r.WeightsSHA256 != "" {
		weights = fmt.Sprintf("weights %.16s", r.WeightsSHA256)
	}
	fmt.Fprintf(plain.Writer(s.out), "%s  state %.16s  in %s\n", weights, r.StateSHA256, s.dir)
}

// roundedUp says why a run took more steps than it was asked to.
func roundedUp(asked, done int64) string {
	return fmt.Sprintf("the budget of %d steps was rounded up to a whole iteration: %d", asked, done)
}

func (s *screen) fail(err error) {
	if s.bar != nil {
		s.End()
	}
	fmt.Fprintf(s.err, "weft: %s\n", plain.Text(err.Error()))
}

// lines shows a run to a program: one JSON object a line.
type lines struct {
	out *json.Encoder
	err io.Writer
	r   *request.Request
	dir string
}

// number is a float64 that JSON can hold: NaN and infinities are null.
type number = part.Number

// emit writes an event. Nobody may be reading any more, which is no reason to
// stop training.
func (l *lines) emit(event any) { _ = l.out.Encode(event) }

func (l *lines) Begin(done, total int64) {
	l.emit(struct {
		Event     string `json:"event"`
		Algorithm string `json:"algorithm"`
		Env       string `json:"env"`
		Policy    string `json:"policy"`
		Workers   int    `json:"workers"`
		Seed      uint64 `json:"seed"`
		Steps     int64  `json:"steps"`
		Total     int64  `json:"total"`
		Out       string `json:"out"`
	}{"begin", l.r.Found.Algorithm.Name, l.r.Found.Env.ID, l.r.Policy, l.r.Workers, l.r.Seed, done, total, l.dir})
}

func (l *lines) Iteration(r runner.Report) {
	logs := make(map[string]number, len(r.Logs))
	for _, x := range r.Logs {
		logs[x.Name] = number(x.X)
	}
	l.emit(struct {
		Event    string            `json:"event"`
		Steps    int64             `json:"steps"`
		Iter     int64             `json:"iter"`
		Seconds  float64           `json:"seconds"`
		Episodes int64             `json:"episodes"`
		Return   number            `json:"return_mean"`
		Logs     map[string]number `json:"metrics"`
	}{"iteration", r.Steps, r.Iter, r.Seconds, r.Episodes, number(r.Return), logs})
}

// Evaluating says nothing: the event of the evaluation follows.
func (l *lines) Evaluating(int) {}

func (l *lines) Evaluated(e runner.Evaluation) { l.evaluated(e, true) }

func (l *lines) evaluated(e runner.Evaluation, greedy bool) {
	l.emit(struct {
		Event      string `json:"event"`
		Steps      int64  `json:"steps"`
		Greedy     bool   `json:"greedy"`
		Episodes   int    `json:"episodes"`
		Unfinished int    `json:"unfinished"`
		Mean       number `json:"return_mean"`
		Std        number `json:"return_std"`
		Min        number `json:"return_min"`
		Max        number `json:"return_max"`
		Length     number `json:"length_mean"`
	}{"eval", e.Steps, greedy, e.Episodes, e.Unfinished, number(e.Mean), number(e.Std), number(e.Min), number(e.Max), number(e.Length)})
}

func (l *lines) Note(text string) {
	l.emit(struct {
		Event string `json:"event"`
		Text  string `json:"text"`
	}{"note", text})
}

func (l *lines) End() {}

// doneEvent is the last line of a run that came to its end.
type doneEvent struct {
	Event          string  `json:"event"`
	Algorithm      string  `json:"algorithm"`
	Env            string  `json:"env"`
	Policy         string  `json:"policy"`
	Workers        int     `json:"workers"`
	Async          bool    `json:"async,omitempty"` // asynchronous, so not repeatable to the bit
	Seed           uint64  `json:"seed"`
	Steps          int64   `json:"steps"`
	Seconds        float64 `json:"seconds"`
	StepsPerSecond float64 `json:"steps_per_second"`
	Episodes       int64   `json:"episodes"`
	ReturnMean     number  `json:"return_mean"`
	WeightsSHA256  string  `json:"weights_sha256,omitempty"` // none of an algorithm without parameters
	StateSHA256    string  `json:"state_sha256,omitempty"`
	Out            string  `json:"out"`
}

func newDone(event string, r *request.Request, dir string, x runner.Result) doneEvent {
	return doneEvent{
		event, r.Found.Algorithm.Name, r.Found.Env.ID, r.Policy, r.Workers, r.Async, r.Seed, x.Steps, x.Seconds, x.StepsPerSecond,
		x.Episodes, number(x.ReturnMean), x.WeightsSHA256, x.StateSHA256, dir,
	}
}

func (l *lines) done(x runner.Result) {
	event := "done"
	if x.Interrupted {
		event = "interrupted"
	} else if x.Steps > l.r.Steps {
		l.Note(roundedUp(l.r.Steps, x.Steps))
	}
	l.emit(newDone(event, l.r, l.dir, x))
}

func (l *lines) fail(err error) {
	l.emit(struct {
		Event string `json:"event"`
		Error string `json:"error"`
	}{"error", err.Error()})
	fmt.Fprintf(l.err, "weft: %s\n", plain.Text(err.Error()))
}
