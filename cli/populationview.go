package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/population"
	"github.com/weft-rl/weft/internal/request"
)

// populationView tells how a population goes.
type populationView struct {
	c    *command
	s    *populating
	json bool
	told int // generations that were told of
}

// exploitEvent is an exploit for programs.
type exploitEvent struct {
	Event      string            `json:"event"`
	Generation int               `json:"generation"`
	Before     map[string]string `json:"copied_settings"`
	After      map[string]string `json:"changed_settings"`
	population.Exploit
}

// generationEvent is a generation for programs.
type generationEvent struct {
	Event      string   `json:"event"`
	Generation int      `json:"generation"`
	Steps      []int64  `json:"steps"`  // by member
	Scores     []number `json:"scores"` // by member
}

func (v *populationView) emit(x any) { _ = json.NewEncoder(v.c.out).Encode(x) } // nobody reads it any more

func (v *populationView) begin(r *request.Request) {
	p := v.s.study
	for _, g := range p.Generations {
		if g.Applied {
			v.told++
		}
	}
	if v.json {
		v.emit(struct {
			Event       string `json:"event"`
			Members     int    `json:"members"`
			Generations int    `json:"generations"`
			Done        int    `json:"done"`
			Out         string `json:"out"`
		}{"begin", p.Members, p.Plan.Generations(), v.told, v.s.dir})
		return
	}
	text := fmt.Sprintf("%s: %d members from seed %d, %d generations of %s steps each, in %s",
		r.Title(), p.Members, p.Seed, p.Plan.Generations(), metrics.Count(p.Every), v.s.dir)
	if v.told > 0 {
		text += fmt.Sprintf("; %d are over", v.told)
	}
	fmt.Fprintln(v.c.out, text)
}

// changed tells of a member that failed, or of generations that are over.
func (v *populationView) changed(m *population.Member) {
	all := v.s.study.Generations
	if m != nil {
		if m.Error != "" {
			v.failed(len(all)-1, m)
		}
		return
	}
	for ; v.told < len(all) && all[v.told].Applied; v.told++ {
		v.generation(v.told)
	}
}

func (v *populationView) failed(g int, m *population.Member) {
	if v.json {
		v.emit(struct {
			Event      string `json:"event"`
			Generation int    `json:"generation"`
			Member     int    `json:"member"`
			Error      string `json:"error"`
		}{"failed", g, m.Number, m.Error})
		return
	}
	fmt.Fprintf(v.c.out, "generation %d: member %d failed: %s\n", g+1, m.Number, m.Error)
}

func (v *populationView) generation(g int) {
	p, x := v.s.study, v.s.study.Generations[g]
	if !v.json {
		fmt.Fprintf(v.c.out, "generation %d of %d: %s\n", g+1, p.Plan.Generations(), scoresText(p, x))
		for _, e := range x.Exploits {
			fmt.Fprintln(v.c.out, "  "+exploitText(p, g, e))
		}
		return
	}
	e := generationEvent{Event: "generation", Generation: g}
	for _, m := range x.Members {
		e.Steps, e.Scores = append(e.Steps, m.Steps), append(e.Scores, number(m.Value()))
	}
	v.emit(e)
	for _, e := range x.Exploits {
		v.emit(newExploitEvent(p, g, e))
	}
}

func newExploitEvent(p *population.Study, g int, e population.Exploit) exploitEvent {
	out := exploitEvent{"exploit", g, map[string]string{}, map[string]string{}, e}
	for i, d := range p.Mutate {
		out.Before[d.Key], out.After[d.Key] = e.Before[i], e.After[i]
	}
	return out
}

// scoresText returns the scores of a generation in a line.
func scoresText(p *population.Study, x *population.Generation) string {
	ranked := p.Ranked(x)
	best, middle := ranked[0], ranked[len(ranked)/2]
	return fmt.Sprintf("step %d, %s: best %s (member %d), median %s, worst %s", best.Steps, p.Metric,
		metrics.Number(best.Value()), best.Number, metrics.Number(middle.Value()), metrics.Number(ranked[len(ranked)-1].Value()))
}

// exploitText says what was copied and changed.
func exploitText(p *population.Study, g int, e population.Exploit) string {
	who := fmt.Sprintf("member %d (%s)", e.Member, metrics.Number(float64(e.Score)))
	if e.Error != "" {
		who = fmt.Sprintf("member %d, which failed,", e.Member)
	}
	from := fmt.Sprintf("member %d (%s)", e.From.Member, metrics.Number(float64(e.From.Score)))
	if e.From.Generation != g {
		from += fmt.Sprintf(" of generation %d", e.From.Generation+1)
	}
	var settings []string
	for i, d := range p.Mutate {
		text := fmt.Sprintf("%s %s", d.Key, e.After[i])
		if e.Before[i] != e.After[i] {
			text = fmt.Sprintf("%s %s -> %s", d.Key, e.Before[i], e.After[i])
		}
		settings = append(settings, text)
	}
	return fmt.Sprintf("%s copies %s at step %d: all of its state; %s", who, from, e.Steps, strings.Join(settings, ", "))
}

// end tells how the population ended.
func (v *populationView) end(event string) {
	p := v.s.study
	if event == "interrupted" && !v.json {
		fmt.Fprintf(v.c.out, "interrupted, saved: weft resume %s goes on\n", v.s.dir)
		return
	}
	if !v.json {
		best := p.At(*p.Best)
		fmt.Fprintf(v.c.out, "the best is member %d: %s %s with %s\nweights %.16s  state %.16s  in %s; weft eval, export and serve take %s\n",
			best.Number, p.Metric, metrics.Number(float64(p.Best.Score)), settingsText(p, best.Point), best.Weights, best.State, v.s.place(*p.Best), v.s.dir)
		return
	}
	e := struct {
		Event    string            `json:"event"`
		Best     *population.Place `json:"best,omitempty"`
		Settings map[string]string `json:"settings,omitempty"`
		Weights  string            `json:"weights_sha256,omitempty"`
		State    string            `json:"state_sha256,omitempty"`
		Out      string            `json:"out"`
	}{Event: event, Out: v.s.dir}
	if event == "done" {
		m := p.At(*p.Best)
		e.Best, e.Weights, e.State, e.Settings = p.Best, m.Weights, m.State, map[string]string{}
		for i, d := range p.Mutate {
			e.Settings[d.Key] = m.Point[i]
		}
	}
	v.emit(e)
}

// settingsText returns the settings of a member in a line.
func settingsText(p *population.Study, point []string) string {
	var keys []string
	for _, d := range p.Mutate {
		keys = append(keys, d.Key)
	}
	return pointText(keys, point)
}

func (c *command) population() *cobra.Command {
	asJSON, svg := false, ""
	cmd := &cobra.Command{
		Use:   "population RUN",
		Short: "Show the lineage of a population",
		Long: "Population shows the generations of a population that weft train --population made: the scores of its\n" +
			"members, and what was copied from whom and changed. --svg draws them, with the ancestors of the best.",
		Example: "  weft population runs/ppo-CartPole-v1-population8-seed1\n" +
			"  weft population runs/ppo-CartPole-v1-population8-seed1 --svg lineage.svg",
		Args: oneRun,
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := readPopulation(args[0])
			if err != nil {
				return err
			}
			if svg != "" && len(overGenerations(p)) == 0 {
				return fmt.Errorf("no generation of %s is over yet: there is nothing to draw", args[0])
			}
			c.started = true
			if svg != "" {
				if err := writeFigure(svg, lineage(p)); err != nil {
					return err
				}
				fmt.Fprintf(c.out, "drew the lineage of %d members into %s\n", p.Members, svg)
				return nil
			}
			return c.showPopulation(p, args[0], asJSON)
		},
	}
	cmd.Flags().StringVar(&svg, "svg", "", "draw the lineage into a `file`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line and nothing else")
	return cmd
}

// showPopulation prints the members, and then the generations.
func (c *command) showPopulation(p *population.Study, dir string, asJSON bool) error {
	v := populationView{c: c, s: &populating{c: c, dir: dir, study: p}, json: asJSON}
	v.changed(nil)
	if asJSON {
		if p.Best != nil {
			v.end("done")
		}
		return nil
	}
	rows := [][]string{{"MEMBER", "SEED", "STEPS", p.Metric, "SETTINGS", ""}}
	last := p.Generations[len(p.Generations)-1]
	for _, m := range last.Members {
		note := m.Error
		if p.Best != nil && p.At(*p.Best) == m {
			note = "the best"
		}
		rows = append(rows, []string{fmt.Sprint(m.Number), fmt.Sprint(v.s.seed(m.Number)), metrics.Count(max(m.Begin, m.Steps)),
			metrics.Number(m.Value()), settingsText(p, m.Point), note})
	}
	return config.Columns(c.out, rows)
}
