package kubernetes

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weft-rl/weft/internal/launch"
)

// object and list are the forms of manifests. They are printed with sorted keys, as kubectl does.
type (
	object = map[string]any
	list   = []any
)

// Ports of a pod.
const (
	hubPort         = 7700 // the leading pod listens for the others
	dataPort        = 7702 // workers exchange data
	healthPort      = 9464 // health of the pod and metrics of its worker
	workerPort      = 9465 // metrics of the worker itself
	coordinatorPort = 9466 // metrics of the coordinator
)

// Folders of a container.
const (
	secretFolder = "/etc/weft/secret"
	configFolder = "/etc/weft/run"
	configFile   = "run.yaml"
)

// instance is the label that all objects of a job have, with the job's name.
const instance = "app.kubernetes.io/instance"

// manifests are the objects of a job.
type manifests struct {
	name   string
	job    object
	others []object // objects that the job owns
}

// forbidden matches what a name of an object may not have.
var forbidden = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf returns a name for the objects of a job, unlike that of any other job.
func nameOf(job, unique string) string {
	base := strings.Trim(forbidden.ReplaceAllString(strings.ToLower(job), "-"), "-")
	if base == "" || base[0] >= '0' && base[0] <= '9' { // a service's name begins with a letter
		base = "run-" + base
	}
	base = strings.TrimRight(base[:min(len(base), 40)], "-")
	return base + "-" + unique
}

// build returns the objects of a job. The unique text is part of their name.
func build(j launch.Job, w wish, unique, secret string) manifests {
	m := manifests{name: nameOf(j.Name, unique)}
	least, most, apart := pods(j)
	meta := func() object {
		out := object{"name": m.name, "labels": m.labels()}
		if w.namespace != "" {
			out["namespace"] = w.namespace
		}
		return out
	}
	m.job = object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": meta(),
		"spec": object{
			"completionMode": "Indexed", "completions": most, "parallelism": most,
			"backoffLimit": w.restarts, "ttlSecondsAfterFinished": w.after, "podReplacementPolicy": "Failed",
			"podFailurePolicy": failurePolicy(),
			"successPolicy":    object{"rules": list{object{"succeededIndexes": "0"}}},
			"template": object{
				"metadata": object{"labels": m.labels(), "annotations": object{
					"prometheus.io/scrape": "true", "prometheus.io/path": "/metrics", "prometheus.io/port": fmt.Sprint(healthPort),
					"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes": "scratch",
				}},
				"spec": m.pod(j, w, apart),
			},
		},
	}
	m.others = []object{
		{"apiVersion": "v1", "kind": "Secret", "metadata": meta(), "type": "Opaque", "stringData": object{"secret": secret}},
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta(), "data": object{configFile: string(j.Config)}},
		{"apiVersion": "v1", "kind": "Service", "metadata": meta(), "spec": object{
			"clusterIP": "None", "publishNotReadyAddresses": true, "selector": object{instance: m.name},
			"ports": list{object{"name": "weft", "port": hubPort}, object{"name": "metrics", "port": healthPort}},
		}},
		// Of a job's pods Kubernetes does not take maxUnavailable, nor a part. Pods that wait for a
		// node are not missed.
		{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta(), "spec": object{
			"minAvailable": least - 1, "unhealthyPodEvictionPolicy": "AlwaysAllow", "selector": object{"matchLabels": object{instance: m.name}},
		}},
	}
	return m
}

func (m manifests) labels() object {
	return object{"app.kubernetes.io/name": "weft", "app.kubernetes.io/managed-by": "weft", instance: m.name}
}

// failurePolicy tells a run that cannot go on from a pod that is lost. A command that says what is
// wrong ends with 1 or 2, one that was told to leave ends with 130.
func failurePolicy() object {
	codes := func(values ...int) object { return object{"operator": "In", "values": values} }
	return object{"rules": list{
		object{"action": "FailJob", "onExitCodes": codes(1, 2)},
		object{"action": "Ignore", "onPodConditions": list{object{"type": "DisruptionTarget", "status": "True"}}},
		object{"action": "Ignore", "onExitCodes": codes(130)},
	}}
}

// pod returns what a pod is.
func (m manifests) pod(j launch.Job, w wish, apart bool) object {
	out := object{
		"restartPolicy": "Never", "subdomain": m.name, "terminationGracePeriodSeconds": w.grace, "automountServiceAccountToken": false, "enableServiceLinks": false,
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": w.user, "runAsGroup": w.group, "fsGroup": w.group, "seccompProfile": object{"type": "RuntimeDefault"},
		},
		"containers":  list{m.container(j, w)},
		"tolerations": tolerations(w),
		"volumes": list{
			object{"name": "runs", "persistentVolumeClaim": object{"claimName": w.claim}},
			object{"name": "secret", "secret": object{"secretName": m.name, "defaultMode": 0o440}},
			object{"name": "config", "configMap": object{"name": m.name}},
			object{"name": "scratch", "emptyDir": object{}},
		},
	}
	alike := object{"matchLabels": object{instance: m.name}}
	if apart {
		out["affinity"] = object{"podAntiAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": list{
			object{"topologyKey": "kubernetes.io/hostname", "labelSelector": alike},
		}}}
	} else {
		out["topologySpreadConstraints"] = list{
			object{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": alike},
		}
	}
	for key, value := range map[string]string{"serviceAccountName": w.account, "priorityClassName": w.priority} {
		if value != "" {
			out[key] = value
		}
	}
	if w.pullSecret != "" {
		out["imagePullSecrets"] = list{object{"name": w.pullSecret}}
	}
	if len(w.selector) > 0 {
		out["nodeSelector"] = w.selector
	}
	return out
}

// away is how many seconds a node may be silent before its pods are given up.
const away = 30

// tolerations returns the taints that pods tolerate.
func tolerations(w wish) (out list) {
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		out = append(out, object{"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": away})
	}
	for _, t := range w.tolerations {
		out = append(out, t)
	}
	return out
}

// container returns the container of a pod. What it may use is what it asks for.
func (m manifests) container(j launch.Job, w wish) object {
	least, most, _ := pods(j)
	resources := object{"cpu": w.cpus}
	if w.memory > 0 {
		resources["memory"] = fmt.Sprintf("%dMi", int(w.memory*1024))
	}
	if w.gpus > 0 {
		resources[w.gpu] = fmt.Sprint(w.gpus)
	}
	env := list{
		object{"name": podIP, "valueFrom": object{"fieldRef": object{"fieldPath": "status.podIP"}}},
		object{"name": nodeName, "valueFrom": object{"fieldRef": object{"fieldPath": "spec.nodeName"}}},
		object{"name": jobNamespace, "valueFrom": object{"fieldRef": object{"fieldPath": "metadata.namespace"}}},
	}
	for _, x := range [][2]string{{jobName, m.name}, {jobContext, w.context}, {jobSize, fmt.Sprint(most)}, {jobLeast, fmt.Sprint(least)}, {jobRun, j.Run}, {podCores, fmt.Sprint(w.cores())}, {podMemory, fmt.Sprint(w.memory)}, {"HOME", "/tmp"}} {
		env = append(env, object{"name": x[0], "value": x[1]})
	}
	runs := object{"name": "runs", "mountPath": filepath.ToSlash(filepath.Dir(j.Run))}
	if w.subpath != "" {
		runs["subPath"] = w.subpath
	}
	out := object{
		"name": "weft", "image": w.image, "args": words(j.Args), "env": env,
		"resources": object{"requests": resources, "limits": resources},
		"ports":     list{object{"name": "weft", "containerPort": hubPort}, object{"name": "metrics", "containerPort": healthPort}, object{"name": "coordinator", "containerPort": coordinatorPort}},
		"securityContext": object{
			"readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "capabilities": object{"drop": list{"ALL"}},
		},
		"livenessProbe":            object{"httpGet": object{"path": "/healthz", "port": "metrics"}, "periodSeconds": 10, "failureThreshold": 6, "initialDelaySeconds": 10},
		"readinessProbe":           object{"httpGet": object{"path": "/readyz", "port": "metrics"}, "periodSeconds": 5},
		"terminationMessagePolicy": "FallbackToLogsOnError",
		"volumeMounts": list{
			runs, object{"name": "secret", "mountPath": secretFolder, "readOnly": true}, object{"name": "config", "mountPath": configFolder, "readOnly": true}, object{"name": "scratch", "mountPath": "/tmp"},
		},
	}
	if w.pull != "" {
		out["imagePullPolicy"] = w.pull
	}
	if w.secret != "" {
		out["envFrom"] = list{object{"secretRef": object{"name": w.secret}}}
	}
	return out
}

func words(all []string) (out list) {
	for _, x := range all {
		out = append(out, x)
	}
	return out
}

// owned returns the other objects as ones that are removed with the job, whose UID is given.
func (m manifests) owned(uid string) []object {
	for _, x := range m.others {
		x["metadata"].(object)["ownerReferences"] = list{
			object{"apiVersion": "batch/v1", "kind": "Job", "name": m.name, "uid": uid},
		}
	}
	return m.others
}

// print returns objects as YAML that kubectl reads.
func print(all ...object) (string, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	for _, x := range all {
		if err := e.Encode(x); err != nil {
			return "", err
		}
	}
	return b.String(), e.Close()
}

const explanation = `# Submit it with
#
#   kubectl apply -f FILE
#
# Pod %[1]s-0 leads the run: it has the coordinator and a worker. The others
# join it and have a worker each. The secret is this job's own: make another one
# for another job. Remove all of it with
#
#   kubectl delete job,service,secret,configmap,pdb -l %[2]s=%[1]s
`

// Script implements launch.Engine: it returns manifests for kubectl apply.
func (e *Engine) Script(j launch.Job) (string, error) {
	w, err := read(j)
	if err == nil {
		err = w.complete()
	}
	if err != nil {
		return "", err
	}
	m := build(j, w, e.fresh(5), e.fresh(26))
	text, err := print(append(m.others, m.job)...)
	return fmt.Sprintf(explanation, m.name, instance) + text, err
}

// fresh returns a random text of so many letters and digits, at most 26.
func (e *Engine) fresh(letters int) string {
	text := rand.Text
	if e.text != nil {
		text = e.text
	}
	return strings.ToLower(text())[:letters]
}
