package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/module"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/verify"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// verifyLimit is how long train lets the plain loop run when it verifies a policy, and
// its environments take to be made.
const verifyLimit = 5 * time.Second

// verifyOnce checks the policy of an author's algorithm before it is trained under it,
// if that has not been done for the programs as they are. name is what the user calls
// the algorithm. Only a difference keeps a run from starting: whatever else goes wrong
// here the run meets and reports itself.
func (c *command) verifyOnce(ctx context.Context, r *request.Request, f *trainFlags, name string) error {
	if f.skip || r.Found.Policy.AsIs || c.ownAlgorithm(r) {
		return nil
	}
	small, begun := toVerify(r), time.Now()
	on, err := small.Problem()
	if err != nil {
		return ctx.Err()
	}
	key, err := c.verifiedKey(on, r.Found.Policy)
	if err == nil && verifiedBefore(key) {
		return nil
	}
	t := teller{c, r, f.json}
	if took := time.Since(begun); took > verifyLimit {
		t.note("%s is not verified under %s: to make its environments takes %.0f s; weft verify does it all the same", name, r.Policy, took.Seconds())
		return nil
	}
	k, found, err := c.verifyOne(ctx, small)
	if err = cmp.Or(err, found.Unfit); err != nil {
		t.note("%s is not verified under %s: %v", name, r.Policy, err)
		return ctx.Err()
	}
	if found.Difference != nil {
		c.started = true
		return t.refuse(fmt.Errorf("policy %s does not compute what the loop of %s computes as it stands: %v\n"+
			"Please report this; weft verify %s shows more. --policy plain trains the loop as it stands, --no-verify under %s all the same",
			r.Policy, name, found.Difference, name, r.Policy))
	}
	t.verified(name, found.Against, k.Iterated())
	if err := remember(key, name, r.Policy); err != nil {
		t.note("the next run verifies it again, because this cannot be kept: %v", err)
	}
	return nil
}

// teller tells a user of train about the verification of a run.
type teller struct {
	c    *command
	r    *request.Request
	json bool
}

// note says what a user should know.
func (t teller) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if t.json {
		t.emit(map[string]any{"event": "note", "text": text})
		return
	}
	fmt.Fprintln(t.c.out, text)
}

// verified says that the policy was found equal.
func (t teller) verified(name, against string, iterations int64) {
	if t.json {
		t.emit(map[string]any{"event": "verified", "algorithm": name, "policy": t.r.Policy, "against": against, "iterations": iterations})
		return
	}
	fmt.Fprintf(t.c.out, "verified %s under %s: equal to %s over %d %s\n", name, t.r.Policy, against, iterations, strings.TrimSpace(plural(int(iterations), "iteration")))
}

// refuse tells why the run does not start, and returns it.
func (t teller) refuse(why error) error {
	if t.json {
		t.emit(map[string]any{"event": "error", "error": why.Error()})
	}
	return why
}

// emit writes an event. A reader that is gone is no error.
func (t teller) emit(event any) { _ = json.NewEncoder(t.c.out).Encode(event) }

// verifyOne compares the request's policy with the plain loop.
func (c *command) verifyOne(ctx context.Context, r *request.Request) (*verify.Check, verify.Verdict, error) {
	k, on, err := c.newCheck(ctx, r, verify.Config{Limit: verifyLimit, Patience: patience})
	if err != nil {
		return nil, verify.Verdict{}, err
	}
	p, sums, err := planned(r.Found.Policy, on, r.Workers)
	if err != nil {
		return k, verify.Verdict{Unfit: err}, nil
	}
	v, err := k.Under(ctx, p, sums)
	return k, v, err
}

// toVerify returns a request with two or three workers, on the CPU engine, and
// synchronous: an asynchronous run has the same programs.
func toVerify(r *request.Request) *request.Request {
	small := *r
	d := r.Deployment
	small.Deployment = plan.Deployment{Policy: d.Policy, Workers: min(max(d.Workers, 2), 3), NoFuse: d.NoFuse, Queue: d.Queue, Pipeline: d.Pipeline && !d.Async}
	small.Devices = cpuDevices(d)
	if r.Found.Policy.Lowered {
		small.Workers = 1
	}
	small.Cluster, small.Single, small.Device = nil, true, plan.CPU
	return &small
}

// cpuDevices returns devices for the groups that a deployment names: a policy may form more groups
// for one that names them.
func cpuDevices(d plan.Deployment) (out []string) {
	for _, text := range slices.Concat(d.Placement, d.Devices) {
		group, _, _ := strings.Cut(text, ":")
		if text = group + ":" + plan.CPU; !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// ownAlgorithm reports whether the algorithm is one of Weft's own, which its tests
// verify under every policy.
func (c *command) ownAlgorithm(r *request.Request) bool {
	if c.set.Named(r.Algorithm) {
		return false
	}
	path := reflect.TypeOf(r.Found.Config).Elem().PkgPath()
	return strings.HasPrefix(path, module.Weft+"/") && !strings.Contains(path, "/testdata/")
}

// verifiedKey returns the hash under which an algorithm's programs for a policy are kept:
// of the programs, the graph, how the policy groups it, and the version of Go. A binary
// that weft did not build stands for its programs.
func (c *command) verifiedKey(on plan.Problem, p policy.Policy) (string, error) {
	form, _ := c.set.Programs()
	if form == "" {
		var err error
		if form, err = binary(); err != nil {
			return "", err
		}
	}
	by, err := p.Groups(on)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%+v\n", form, runtime.Version(), p.Name, by)
	if err := on.Graph.WriteJSON(h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// cacheVariable names the environment variable for the folder of what is kept between
// runs.
const cacheVariable = "WEFT_CACHE"

// verifiedFolder returns the folder of what was verified.
func verifiedFolder() (string, error) {
	dir := os.Getenv(cacheVariable)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "weft")
	}
	return filepath.Join(dir, "verified"), nil
}

// verifiedBefore reports whether a key was kept.
func verifiedBefore(key string) bool {
	dir, err := verifiedFolder()
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(dir, key))
	return err == nil
}

// remember keeps a key. Several processes may do so at once: the file is renamed into
// place, and its content does not matter.
func remember(key, name, policy string) error {
	if key == "" {
		return errors.New("the package's programs have no known version")
	}
	dir, err := verifiedFolder()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s under %s\n", name, policy)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, key))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
