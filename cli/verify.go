package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/verify"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// verifyFlags are the flags of verify.
type verifyFlags struct {
	trainFlags
	workers    string
	iterations int64
}

// verifySettings are the flags of train that verify has as well.
var verifySettings = []string{"env", "wrap", "preset", "policy", "steps", "seed", "no-fuse", "python"}

func (c *command) verify() *cobra.Command {
	f := &verifyFlags{trainFlags: trainFlags{values: map[string]*string{}}}
	cmd := &cobra.Command{
		Use:   "verify ALGO",
		Short: "Check that policies compute the same as the plain loop",
		Long: "Verify runs the training loop of ALGO, a built-in algorithm or the path of an author's package, for a few\n" +
			"iterations: as it stands, and then under every policy that fits it, in this process and with the same seed. It\n" +
			"compares what every operation computes and what is left, to the bit, and names the first operation that differs.\n" +
			"The exit code is 1 if one does, or if a run fails. A policy that does not fit the loop is listed with the reason.",
		Example: "  weft verify ppo\n" +
			"  weft verify ./my/algo --env CartPole-v1\n" +
			"  weft verify ./my/algo --policy single-learner-coarse --workers 2,5 --iterations 10\n" +
			"  weft verify ./my/algo --data expert.parquet\n" +
			"  weft verify dqn --set prioritised=true --json",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{settingsHint: "a setting of the algorithm is given with --set key=value"},
		RunE:        func(cmd *cobra.Command, args []string) error { return c.runVerify(cmd, f, args) },
	}
	c.settingFlags(cmd, &f.trainFlags, verifySettings)
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "", dataUsage)
	flags.StringArrayVar(&f.set, "set", nil, "a setting of the algorithm, `key=value`; may be repeated")
	flags.StringArrayVar(&f.files, "config", nil, configUsage)
	flags.StringVar(&f.workers, "workers", "2,3", "`numbers` of workers to run each policy with")
	flags.Int64Var(&f.iterations, "iterations", 0, "iterations of every run; 0 is as many as it takes to use learned weights, and at least 2")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	flags.Lookup("policy").Usage = "the only policy to check; default: all of them"
	return cmd
}

// counts parses the numbers of workers.
func (f *verifyFlags) counts() (out []int, err error) {
	for part := range strings.SplitSeq(f.workers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("--workers: %q is not a number of workers", part)
		}
		out = append(out, n)
	}
	return out, nil
}

// fewSteps is the budget of a loop that has no preset: the part of it that is done
// shows in schedules.
const fewSteps = 100_000

func (c *command) runVerify(cmd *cobra.Command, f *verifyFlags, args []string) error {
	l, malformed := f.layers(cmd, args)
	if paths := c.foreign(l); len(paths) > 0 {
		if malformed != nil {
			return malformed
		}
		return c.runBuilt(cmd.Context(), paths, cmp.Or(l.Value("policy"), "all"))
	}
	l.Steps = fewSteps
	r, wrong := c.set.Resolve(l)
	counts, bad := f.counts()
	if l.Sets("policy") && r.Found.Policy.AsIs {
		bad = errors.Join(bad, fmt.Errorf("--policy: %s is the reference for all others: name another, or none for all of them", r.Policy))
	}
	if f.iterations < 0 {
		bad = errors.Join(bad, fmt.Errorf("--iterations: %d is not a number of iterations", f.iterations))
	}
	if err := errors.Join(malformed, wrong, bad); err != nil {
		return err
	}
	policies := c.set.AllPolicies()
	if l.Sets("policy") {
		policies = []policy.Policy{r.Found.Policy}
	}
	c.started = true
	k, on, err := c.newCheck(cmd.Context(), r, verify.Config{Iterations: f.iterations, Patience: patience})
	if err != nil {
		return err
	}
	out := c.verdicts(r, k, f.json)
	for _, p := range policies {
		if p.AsIs {
			continue
		}
		if err := out.policy(cmd.Context(), p, on, counts); err != nil {
			return err
		}
	}
	return out.end()
}

// patience is how long a distributed run of a few iterations may take, unless the
// plain loop takes long. Tests have less of it.
var patience = 60 * time.Second

// newCheck runs the plain loop of a request on the CPU engine, which promises bits. It
// also returns the problem that policies solve for the request.
func (c *command) newCheck(ctx context.Context, r *request.Request, how verify.Config) (*verify.Check, plan.Problem, error) {
	on := plan.Problem{}
	r.Device, r.Cluster, r.Single = device.Default, nil, true
	job, err := r.Job()
	if err != nil {
		return nil, on, err
	}
	if on, err = r.Facts(job); err != nil {
		return nil, on, err
	}
	how.Job, how.Graph = job, on.Graph
	_, how.Texts = c.set.Programs()
	k, err := verify.New(ctx, how)
	return k, on, err
}

// planned returns a policy's plan for a number of workers, fused as train fuses it. sums
// is true if the plan adds up gradients of several shards.
func planned(p policy.Policy, on plan.Problem, workers int) (by plan.Plan, sums bool, err error) {
	on.Deployment.Policy, on.Deployment.Workers = p.Name, workers
	on.Cluster = plan.Local(workers, device.Default)
	out, err := p.Make(on)
	if err != nil {
		return out, false, err
	}
	return out.Fuse(on.Graph, on.Deployment.NoFuse), p.Sums(on), nil
}

// verdicts shows what was found.
type verdicts struct {
	c      *command
	r      *request.Request
	k      *verify.Check
	json   *json.Encoder // nil shows it to a person
	equal  int
	differ int
	unfit  int
}

// verdict is a line of JSON.
type verdict struct {
	Event      string             `json:"event"`
	Policy     string             `json:"policy"`
	Workers    int                `json:"workers,omitempty"`
	Result     string             `json:"result"` // equal, different, unfit
	Against    string             `json:"against,omitempty"`
	Reason     string             `json:"reason,omitempty"`
	Difference *verify.Difference `json:"difference,omitempty"`
}

func (c *command) verdicts(r *request.Request, k *verify.Check, asJSON bool) *verdicts {
	v := &verdicts{c: c, r: r, k: k}
	if asJSON {
		v.json = json.NewEncoder(c.out)
	} else {
		fmt.Fprintf(c.out, "%s, seed %d: %d iterations\n", r.Title(), r.Seed, k.Iterated())
	}
	return v
}

// policy checks a policy with numbers of workers. One that is one program, or that
// fits no number, is shown once.
func (v *verdicts) policy(ctx context.Context, p policy.Policy, on plan.Problem, counts []int) error {
	if p.Lowered {
		counts = []int{1}
	}
	var reasons []error
	for _, n := range counts {
		by, sums, err := planned(p, on, n)
		found := verify.Verdict{Unfit: err}
		if err == nil {
			if found, err = v.k.Under(ctx, by, sums); err != nil {
				return err
			}
		}
		if found.Unfit == nil {
			v.show(p.Name, n, found)
			continue
		}
		known := slices.ContainsFunc(reasons, func(e error) bool { return e.Error() == found.Unfit.Error() })
		if reasons = append(reasons, found.Unfit); !known {
			v.show(p.Name, n, found)
		}
	}
	return nil
}

// show shows one verdict.
func (v *verdicts) show(name string, workers int, found verify.Verdict) {
	line := verdict{Event: "verified", Policy: name, Workers: workers, Result: "equal", Against: found.Against, Difference: found.Difference}
	text := "equal to " + found.Against
	switch {
	case found.Unfit != nil:
		v.unfit++
		line.Result, line.Reason = "unfit", found.Unfit.Error()
		text = "does not fit: " + strings.ReplaceAll(line.Reason, "\n", "; ")
	case found.Difference != nil:
		v.differ++
		line.Result = "different"
		text = "DIFFERENT: " + found.Difference.String()
	default:
		v.equal++
	}
	if v.json != nil {
		_ = v.json.Encode(line) // nobody may be reading any more
		return
	}
	fmt.Fprintf(v.c.out, "%-22s %2d %s  %s\n", name, workers, plural(workers, "worker"), text)
}

// plural returns the word in the form for n, padded to the longer form.
func plural(n int, word string) string {
	if n == 1 {
		return word + " "
	}
	return word + "s"
}

// end sums up. A difference is a failure, and so is that nothing was compared.
func (v *verdicts) end() error {
	if v.json != nil {
		_ = v.json.Encode(struct {
			Event      string `json:"event"`
			Iterations int64  `json:"iterations"`
			Equal      int    `json:"equal"`
			Different  int    `json:"different"`
			Unfit      int    `json:"unfit"`
		}{"done", v.k.Iterated(), v.equal, v.differ, v.unfit})
	}
	switch {
	case v.differ > 0:
		if v.json == nil {
			fmt.Fprintf(v.c.out, "%d of %d runs are not what the plain loop is\n", v.differ, v.equal+v.differ)
		}
		return exitStatus(exitFailed)
	case v.equal == 0:
		return errors.New("no policy fits the loop: nothing was compared")
	}
	if v.json == nil {
		fmt.Fprintf(v.c.out, "all %d runs are equal\n", v.equal)
	}
	return nil
}
