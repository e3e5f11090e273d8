package kubernetes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// wish is a job's request, read from its options.
type wish struct {
	cluster
	image, pull            string
	claim, subpath         string
	cpus                   string // of each pod
	memory                 float64
	gpus                   int
	gpu                    string // name of the resource
	selector               map[string]string
	tolerations            []object
	user, group            int
	account, priority      string
	pullSecret, secret     string
	grace, restarts, after int  // seconds, times, seconds
	wait                   bool // for machines that are not there yet
}

// cluster says which cluster kubectl is to speak with. Empty is kubectl's own default.
type cluster struct{ context, namespace string }

// defaults returns what a job asks for that has no options.
func defaults() wish {
	return wish{cpus: "1", gpu: "nvidia.com/gpu", user: 65532, group: 65532, grace: 120, restarts: 6, after: 86400, selector: map[string]string{}}
}

const known = "image, pull, claim, namespace, context, cpus, memory, gpus, gpu-resource, node-selector, toleration, user, service-account, priority, pull-secret, secret, grace, restarts, ttl, wait"

// read reads what a job asks for.
func read(j launch.Job) (wish, error) {
	w := defaults()
	var errs []error
	for _, o := range j.Options {
		if err := w.option(o.Key, o.Value); err != nil {
			errs = append(errs, fmt.Errorf("--kubernetes %s: %w", o.Key, err))
		}
	}
	return w, errors.Join(errs...)
}

// complete reports what a job cannot be submitted without.
func (w wish) complete() error {
	var errs []error
	if w.image == "" {
		errs = append(errs, errors.New("--kubernetes image=NAME is needed: the image that pods run, which weft image writes and a registry of the cluster has"))
	}
	if w.claim == "" {
		errs = append(errs, errors.New("--kubernetes claim=NAME is needed: the PersistentVolumeClaim for the folder of runs, which all pods mount (ReadWriteMany)"))
	}
	return errors.Join(errs...)
}

// option takes an option of the user's.
func (w *wish) option(key, value string) (err error) {
	texts := map[string]*string{
		"image": &w.image, "namespace": &w.namespace, "context": &w.context, "gpu-resource": &w.gpu, "service-account": &w.account,
		"priority": &w.priority, "pull-secret": &w.pullSecret, "secret": &w.secret,
	}
	if at := texts[key]; at != nil {
		if *at = value; value == "" {
			err = errors.New("it has no value")
		}
		return err
	}
	switch key {
	case "pull":
		if w.pull = value; value != "Always" && value != "IfNotPresent" && value != "Never" {
			err = fmt.Errorf("%q is none of Always, IfNotPresent, Never", value)
		}
	case "claim":
		w.claim, w.subpath, _ = strings.Cut(value, ":")
		if w.claim == "" || w.subpath != "" && !localPath(w.subpath) {
			err = fmt.Errorf("%q is not of the form NAME or NAME:FOLDER", value)
		}
	case "cpus":
		x, e := strconv.ParseFloat(value, 64)
		if w.cpus = value; e != nil || !(x >= 0.001 && x <= 1e6) {
			err = fmt.Errorf("%q is no number of CPUs", value)
		}
	case "memory":
		if w.memory, err = strconv.ParseFloat(value, 64); err != nil || !(w.memory > 0 && w.memory < 1e6) {
			err = fmt.Errorf("%q is no number of GiB", value)
		}
	case "node-selector":
		label, x, ok := strings.Cut(value, "=")
		if w.selector[label] = x; !ok || label == "" {
			err = fmt.Errorf("%q is not of the form LABEL=VALUE", value)
		}
	case "toleration":
		return w.tolerate(value)
	case "user":
		user, group, two := strings.Cut(value, ":")
		if w.user, err = number(user, 1); err == nil && two {
			w.group, err = number(group, 1)
		} else {
			w.group = w.user
		}
	case "gpus":
		w.gpus, err = number(value, 1)
	case "grace":
		w.grace, err = number(value, 1)
	case "restarts":
		w.restarts, err = number(value, 0)
	case "ttl":
		var d time.Duration
		if d, err = time.ParseDuration(value); err != nil || d < 0 {
			err = fmt.Errorf("%q is no time, such as 24h", value)
		}
		w.after = int(d.Seconds())
	case "wait":
		w.wait = true
	default:
		err = errors.New("there is no such option: it is one of " + known)
	}
	return err
}

// number reads a whole number that is not too small.
func number(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > math.MaxInt32 {
		return 0, fmt.Errorf("%q is no whole number from %d on", text, least)
	}
	return n, nil
}

// localPath reports whether a path stays in the folder that it begins at.
func localPath(p string) bool {
	return !path.IsAbs(p) && p == path.Clean(p) && p != ".." && !strings.HasPrefix(p, "../")
}

var taint = regexp.MustCompile(`^([^=:]+)(=[^:]*)?(?::(NoSchedule|PreferNoSchedule|NoExecute))?$`)

// tolerate takes a taint that pods tolerate, as KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT.
func (w *wish) tolerate(text string) error {
	m := taint.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not of the form KEY[=VALUE][:EFFECT], with an effect of NoSchedule, PreferNoSchedule or NoExecute", text)
	}
	t := object{"key": m[1], "operator": "Exists"}
	if m[2] != "" {
		t["operator"], t["value"] = "Equal", m[2][1:]
	}
	if m[3] != "" {
		t["effect"] = m[3]
	}
	w.tolerations = append(w.tolerations, t)
	return nil
}

// cores returns how many cores the worker of a pod may use.
func (w wish) cores() int {
	x, _ := strconv.ParseFloat(w.cpus, 64) // it was read before
	return max(1, int(math.Ceil(x)))
}

// pods returns how many pods a job begins with, how many it may have, and whether each needs a node
// of its own.
func pods(j launch.Job) (least, most int, apart bool) {
	least = cmp.Or(j.Workers, max(1, j.Nodes))
	return least, max(least, j.Most), least == max(1, j.Nodes) && j.Nodes > 0
}
