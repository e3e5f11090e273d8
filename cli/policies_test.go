package cli_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

func TestListPolicies(t *testing.T) {
	o := do(t, 0, "list", "policies")
	contains(t, strings.Join(strings.Fields(o.out), " "), "plain ", "gpu-only ", "as Acme, Sebulba", "asynchronous or synchronous")
	contains(t, do(t, 0, "list", "policies", "central").out, "parameter servers", "Settings:", "staleness", "placement")
	contains(t, do(t, 2, "list", "policies", "centrall").errors, `did you mean "central"?`)
	all := events(t, do(t, 0, "list", "policies", "--json").out)
	if len(all) != len(policy.Builtin()) || all[1]["async"] != "synchronous or asynchronous" || all[1]["like"] == nil {
		t.Errorf("%v", all)
	}
}

// twin is coarse under another name.
var twin = policy.Policy{Name: "twin", Doc: "the same again", Grouping: policy.SingleLearnerCoarse.Grouping}

// TestOwnPolicy: a binary's own policy is listed, planned and run like others.
func TestOwnPolicy(t *testing.T) {
	t.Chdir(t.TempDir())
	set := weft.Builtin()
	set.Policies = []policy.Policy{twin}
	contains(t, run(t.Context(), set, "list", "policies").out, "the same again")
	contains(t, run(t.Context(), set, planned("--policy", "twin", "--workers", "2")...).out, "plan twin of", "collector 1")
	plain := last(t, do(t, 0, tiny("--json")...))
	o := run(t.Context(), set, tiny("--json", "--policy", "twin", "--workers", "3")...)
	if e := last(t, o); e["policy"] != "twin" || e["state_sha256"] != plain["state_sha256"] {
		t.Errorf("%v %s", e, o.errors)
	}
}

// TestOwnAsIs: a policy of any name can say that it runs the loop as it stands.
func TestOwnAsIs(t *testing.T) {
	t.Chdir(t.TempDir())
	set := weft.Builtin()
	set.Policies = []policy.Policy{{Name: "bare", Doc: "nothing at all", Grouping: policy.Plain.Grouping, AsIs: true}}
	plain := last(t, do(t, 0, tiny("--json")...))
	if e := last(t, run(t.Context(), set, tiny("--json", "--policy", "bare")...)); e["state_sha256"] != plain["state_sha256"] {
		t.Errorf("%v", e)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{tiny("--policy", "bare", "--workers", "2"), "--policy: bare is one worker"},
		{tiny("--policy", "bare", "--replicas", "2"), "policy bare does not split the loop"},
		{tiny("--policy", "bare", "--processes", "2"), "policy bare is one process"},
		{[]string{"verify", "ppo", "--policy", "bare"}, "bare is the reference for all others"},
	} {
		if o := run(t.Context(), set, c.args...); o.code != 2 || !strings.Contains(o.errors, c.want) {
			t.Errorf("%v: code %d, %s; want %s", c.args, o.code, o.errors, c.want)
		}
	}
}

// TestOfferedPolicies: what a package offers as policies must be some, under names
// of their own.
func TestOfferedPolicies(t *testing.T) {
	for _, c := range []struct {
		offer any
		want  string
	}{
		{policy.Policy{Name: "central", Grouping: twin.Grouping}, "a name that is taken"},
		{policy.Policy{Name: "empty"}, "without a grouping"},
		{[]policy.Policy{twin, twin}, "a name that is taken"},
		{func(*fdg.Graph) plan.Grouping { return plan.Grouping{} }, "its Policy a policy.Policy"},
	} {
		set := weft.Builtin()
		set.At("./mine", "", c.offer)
		if o := run(t.Context(), set, tiny()...); o.code != 2 || !strings.Contains(o.errors, c.want) {
			t.Errorf("code %d, %s; want %s", o.code, o.errors, c.want)
		}
	}
	set := weft.Builtin()
	set.At("./mine", "", []policy.Policy{twin})
	contains(t, run(t.Context(), set, "list", "policies", "twin").out, "the same again")
}
