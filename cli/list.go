package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

func (c *command) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:       "list algorithms|envs|policies|wrappers [NAME]",
		Short:     "List algorithms, environments, policies, wrappers",
		Long:      "List shows the algorithms, environments, policies or wrappers that this binary knows; with a NAME, one of them in full.",
		Example:   "  weft list algorithms\n  weft list algorithms ppo\n  weft list envs --json\n  weft list policies central",
		Args:      cobra.RangeArgs(1, 2),
		ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			if paths := c.foreign(namedBy(args)); len(paths) > 0 {
				return c.runBuilt(cmd.Context(), paths, "")
			}
			items, err := c.items(args)
			if err != nil {
				return err
			}
			if asJSON {
				return encode(c.out, items)
			}
			return show(c.out, items, len(args) == 2 && len(items) == 1)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line and nothing else")
	return cmd
}

// namedBy returns what is asked for by name, as train would have it.
func namedBy(args []string) (l request.Layers) {
	if len(args) == 2 {
		key := map[string]string{"algorithms": "algorithm", "envs": "env", "policies": "policies"}[args[0]]
		l.Flags = []config.Assignment{{Key: key, Value: args[1]}}
	}
	return l
}

// item is one thing that is listed.
type item struct {
	Name     string        `json:"name"`
	Doc      string        `json:"doc"`
	Settings []settingItem `json:"settings,omitempty"`
	Presets  []presetItem  `json:"presets,omitempty"`
	Spec     *envItem      `json:"spec,omitempty"`
	Source   string        `json:"source,omitempty"`  // library or program that computes an environment
	Missing  string        `json:"missing,omitempty"` // why it cannot be used here
	Like     string        `json:"like,omitempty"`    // systems whose way a policy is
	Async    string        `json:"async,omitempty"`   // whether a policy's edges may be asynchronous

	fields []config.Field
}

type settingItem struct {
	Key     string   `json:"key"`
	Kind    string   `json:"kind"`
	Unit    string   `json:"unit,omitempty"`
	Default string   `json:"default"`
	Range   string   `json:"range,omitempty"`
	OneOf   []string `json:"oneof,omitempty"`
	Doc     string   `json:"doc"`
}

type presetItem struct {
	Name  string   `json:"name"`
	Env   string   `json:"env"`
	Doc   string   `json:"doc"`
	Steps int64    `json:"steps"`
	Set   []string `json:"set,omitempty"`
}

type envItem struct {
	Observation string     `json:"observation"`
	Action      string     `json:"action"`
	Limit       int        `json:"limit"`
	Graph       bool       `json:"graph"`
	Exact       bool       `json:"exact"`
	Masked      bool       `json:"masked"`
	Mortal      bool       `json:"mortal,omitempty"` // agents may be out of play before the others
	Turns       bool       `json:"turns,omitempty"`  // agents act one after another
	Agents      int        `json:"agents"`
	Kinds       []kindItem `json:"kinds,omitempty"` // where there are several
}

// kindItem is one of several kinds of agents.
type kindItem struct {
	Kind        string `json:"kind"`
	Agents      int    `json:"agents"`
	Observation string `json:"observation"`
	Action      string `json:"action"`
}

func (c *command) items(args []string) (all []item, err error) {
	name := ""
	if len(args) == 2 {
		name = args[1]
	}
	switch args[0] {
	case "algorithms":
		all, err = c.algorithms(name)
	case "envs":
		all, err = c.environments(name)
	case "policies":
		all, err = c.policies(name)
	case "wrappers":
		all, err = wrappers(name)
	default:
		err = request.Unknown("kind of thing", args[0], kinds, "weft list --help")
	}
	return all, err
}

// kinds lists the arguments of weft list.
var kinds = []string{"algorithms", "envs", "policies", "wrappers"}

func encode(w io.Writer, items []item) error {
	enc := json.NewEncoder(w)
	for _, x := range items {
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return nil
}

func (c *command) algorithms(name string) (out []item, err error) {
	all := c.set.Algorithms
	if name != "" {
		a, err := c.set.Algorithm(name)
		if err != nil {
			return nil, err
		}
		all = []algo.Algorithm{a}
	}
	for _, a := range all {
		x := item{Name: a.Name, Doc: a.Doc}
		if err := x.describe(a.Config()); err != nil {
			return nil, fmt.Errorf("algorithm %s: %w", a.Name, err)
		}
		for _, p := range a.Presets {
			set, err := request.PresetSettings(a, p)
			if err != nil {
				return nil, fmt.Errorf("algorithm %s, preset %s: %w", a.Name, p.Name, err)
			}
			x.Presets = append(x.Presets, presetItem{p.Name, presetFor(a, p), p.Doc, p.Steps, set})
		}
		out = append(out, x)
	}
	return out, nil
}

// presetFor returns what a preset is for.
func presetFor(a algo.Algorithm, p algo.Preset) string {
	if a.Offline && p.Env == "" {
		return "any data set"
	}
	return cmp.Or(p.Env, "any of "+string(p.Kind))
}

func (c *command) policies(name string) (out []item, err error) {
	if request.IsPath(name) {
		name = "" // its policies are among all
	}
	if name != "" {
		if _, err := c.set.Policy(name); err != nil {
			return nil, err
		}
	}
	for _, p := range c.set.AllPolicies() {
		if name != "" && name != p.Name {
			continue
		}
		x := item{Name: p.Name, Doc: p.Doc, Like: p.Like, Async: p.Async.String()}
		if name != "" {
			if err := x.describe(&plan.Deployment{}); err != nil {
				return nil, err
			}
		}
		out = append(out, x)
	}
	return out, nil
}

func wrappers(name string) (out []item, err error) {
	for _, w := range wrap.Kinds() {
		if name == "" || name == w.Name {
			out = append(out, item{Name: w.Usage, Doc: w.Doc})
		}
	}
	if len(out) == 0 {
		return nil, request.Unknown("wrapper", name, wrap.Names(), "weft list wrappers")
	}
	return out, nil
}

// describe adds the settings of the struct that p points to.
func (x *item) describe(p any) (err error) {
	x.fields, err = fieldsOf(p)
	for _, f := range x.fields {
		x.Settings = append(x.Settings, settingItem{f.Key, f.Kind, f.Unit, f.Default, f.Range, f.OneOf, f.Doc})
	}
	return err
}

func fieldsOf(p any) ([]config.Field, error) {
	if err := config.Defaults(p); err != nil {
		return nil, err
	}
	return config.Fields(p)
}

func (c *command) environments(name string) (out []item, err error) {
	all := c.set.Environments
	if name != "" {
		id, set, err := request.Options(name)
		e, missing := c.set.Environment(id)
		if err := errors.Join(err, missing); err != nil {
			return nil, err
		}
		all = []env.Entry{configured(e, set)}
	}
	d, err := device.Open(device.Default)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		x, err := describeEnv(e, d)
		if err != nil && name != "" {
			return nil, err
		}
		if err != nil {
			x.Missing = err.Error() // one that needs what is not installed hides no other
		}
		out = append(out, x)
	}
	if name != "" {
		return out, nil
	}
	for _, s := range c.set.Schemes {
		x := item{Name: s.Prefix + ":NAME", Doc: s.Doc + ", as in " + s.Example}
		if s.Options != nil {
			if err := x.describe(s.Options()); err != nil {
				return nil, fmt.Errorf("environments %s: %w", s.Prefix, err)
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// configured returns an entry whose options are set as its name says.
func configured(e env.Entry, set []config.Assignment) env.Entry {
	if e.Options == nil || len(set) == 0 {
		return e
	}
	out := e
	out.NewGroups = func(s *rl.Scope, n int, _ any) (env.Groups, error) {
		r := request.Request{Found: request.Found{Env: e}}
		if err := r.SetEnv(set); err != nil {
			return nil, err
		}
		return e.Make(s, n, r.Found.EnvOptions)
	}
	return out
}

func describeEnv(e env.Entry, d *rl.Device) (item, error) {
	x := item{Name: e.ID, Doc: e.Doc}
	var options any
	if e.Options != nil {
		options = e.Options()
		if err := x.describe(options); err != nil {
			return x, fmt.Errorf("environment %s: %w", e.ID, err)
		}
	}
	scope := rl.NewScope(d, 0)
	g, err := env.OpenGroups(scope, e, 1, options)
	if err != nil {
		return x, errors.Join(err, scope.Close())
	}
	x.Spec = itemOf(g.Spec())
	if s, ok := env.Find[env.Sourced](g); ok {
		x.Source = s.Source()
	}
	return x, scope.Close()
}

// itemOf describes the agents of an environment.
func itemOf(specs []env.Spec) *envItem {
	s := specs[0]
	x := &envItem{Limit: s.Limit, Graph: s.Graph, Exact: s.Exact, Turns: s.Turns}
	var observations, actions []string
	for _, s := range specs {
		k := kindItem{s.Kind, max(1, s.Agents), s.Obs.String(), s.Action.String()}
		x.Masked, x.Mortal = x.Masked || s.Masked, x.Mortal || s.Mortal
		x.Agents, x.Kinds = x.Agents+k.Agents, append(x.Kinds, k)
		observations, actions = append(observations, k.label(k.Observation)), append(actions, k.label(k.Action))
	}
	x.Observation, x.Action = strings.Join(observations, ", "), strings.Join(actions, ", ")
	if len(specs) == 1 {
		x.Kinds = nil
	}
	return x
}

// label says whose a space is: how many agents there are, if several, and of
// which kind, if there are others.
func (k kindItem) label(space string) string {
	if k.Kind != "" {
		return fmt.Sprintf("%d %s: %s", k.Agents, k.Kind, space)
	}
	if k.Agents > 1 {
		return fmt.Sprintf("%d x %s", k.Agents, space)
	}
	return space
}

// show prints items for a person: a line or more to each, or one of them in full.
func show(w io.Writer, items []item, full bool) error {
	var rows [][]string
	envs := false
	for _, x := range items {
		doc := like(x)
		if x.Missing != "" {
			doc += " (not here)"
		}
		envs = envs || x.Missing != "" || x.Spec != nil
		if x.Async != "" {
			doc += "; " + x.Async
		}
		rows = append(rows, []string{x.Name, doc})
	}
	if err := config.Columns(w, rows); err != nil {
		return err
	}
	if full {
		return detail(w, items[0])
	}
	if envs {
		fmt.Fprintln(w, "\nweft list envs NAME shows what an environment looks like, or why it is not here.")
	}
	return nil
}

// like returns what a policy is, and where it is known from.
func like(x item) string {
	if x.Like == "" {
		return x.Doc
	}
	return fmt.Sprintf("%s (as %s)", x.Doc, x.Like)
}

func detail(w io.Writer, x item) error {
	if x.Spec != nil {
		fmt.Fprintln(w)
		if err := config.Columns(w, [][]string{{"Observation", x.Spec.Observation}, {"Action", x.Spec.Action}}); err != nil {
			return err
		}
	}
	if x.Source != "" {
		fmt.Fprintln(w, "\n"+config.Fold("Computed by "+x.Source))
	}
	if len(x.fields) > 0 {
		fmt.Fprintln(w, "\nSettings:")
		if err := config.Table(w, x.fields); err != nil {
			return err
		}
	}
	if len(x.Presets) > 0 {
		fmt.Fprintln(w, "\nPresets:")
		var rows [][]string
		for _, p := range x.Presets {
			doc := fmt.Sprintf("%s (%d steps)", p.Doc, p.Steps)
			if len(p.Set) > 0 {
				doc += ": " + strings.Join(p.Set, " ")
			}
			rows = append(rows, []string{"", p.Name, p.Env, doc})
		}
		return config.Columns(w, rows)
	}
	return nil
}
