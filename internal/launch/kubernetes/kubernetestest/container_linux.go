package kubernetestest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// container is the only container of a pod.
type container struct {
	node  *node
	pod   pod
	ip    string
	over  chan struct{} // closed when it has ended and its status is told
	asked chan int      // grace period in seconds, once it is to end

	mu  sync.Mutex
	cmd *exec.Cmd
}

func (c *container) log() string {
	return filepath.Join(c.node.cluster.dir, "logs", c.pod.Metadata.UID)
}

// end has the container end within a grace period.
func (c *container) end(grace int) {
	select {
	case c.asked <- grace:
	default: // it was asked before
	}
}

// kill kills all processes of the container, and reports whether there were any.
func (c *container) kill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cmd != nil && c.cmd.Process.Kill() == nil
}

// run carries the pod out, from its volumes to its last status.
func (c *container) run(ctx context.Context) {
	defer close(c.over)
	what := c.pod.Spec.Containers[0]
	if what.Image != Image {
		c.status(ctx, "Pending", object{"waiting": object{"reason": "ErrImagePull", "message": fmt.Sprintf("failed to pull and unpack image %q: not found", what.Image)}}, false)
		select { // it would try again
		case <-c.asked:
		case <-ctx.Done():
		}
		return
	}
	c.ip = c.node.cluster.address()
	b, err := c.box(ctx)
	for err != nil && ctx.Err() == nil { // a secret may not be there yet
		select {
		case <-c.asked:
			return
		case <-time.After(200 * time.Millisecond):
		}
		b, err = c.box(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	host := c.pod.Spec.Hostname + "." + c.pod.Spec.Subdomain
	c.node.cluster.rename(host, c.ip)
	code := c.execute(ctx, b)
	if ctx.Err() != nil {
		return // the node is lost, and says no more
	}
	c.node.cluster.rename(host, "")
	phase, message := "Succeeded", ""
	if code != 0 {
		phase, message = "Failed", tail(c.log(), 2048)
	}
	c.status(ctx, phase, object{"terminated": object{"exitCode": code, "message": message, "reason": map[bool]string{true: "Completed", false: "Error"}[code == 0]}}, false)
}

// execute runs the container to its end, and returns its exit code.
func (c *container) execute(ctx context.Context, b box) int {
	runtime.LockOSThread() // its processes end with the thread that started them
	defer runtime.UnlockOSThread()
	log, err := os.Create(c.log())
	if err != nil {
		return 128
	}
	defer log.Close()
	text, _ := json.Marshal(b) // there are texts and numbers
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{boxVariable + "=" + string(text)}, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	c.mu.Lock()
	err = cmd.Start()
	c.cmd = cmd
	c.mu.Unlock()
	if err != nil {
		fmt.Fprintln(log, err)
		return 128
	}
	c.status(ctx, "Running", object{"running": object{"startedAt": time.Now().UTC().Format(time.RFC3339)}}, false)
	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { c.probe(ctx, done) })
	all.Go(func() {
		select {
		case grace := <-c.asked:
			_ = cmd.Process.Signal(syscall.SIGTERM) // or it has ended
			select {
			case <-time.After(time.Duration(grace) * time.Second):
				c.kill()
			case <-done:
			}
		case <-ctx.Done():
			c.kill()
		case <-done:
		}
	})
	err = cmd.Wait()
	close(done)
	all.Wait()
	c.mu.Lock()
	c.cmd = nil
	c.mu.Unlock()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	}
	return 137
}

// probe tells whether the container is ready, until it ends.
func (c *container) probe(ctx context.Context, done <-chan struct{}) {
	p := c.pod.Spec.Containers[0].ReadinessProbe
	if p == nil {
		return
	}
	asker := &http.Client{Timeout: time.Second}
	for was := false; ; {
		select {
		case <-done:
			return
		case <-time.After(300 * time.Millisecond):
		}
		r, err := asker.Get("http://" + c.ip + ":9464" + p.HTTPGet.Path)
		ready := err == nil && r.StatusCode == http.StatusOK
		if err == nil {
			_ = r.Body.Close() // it was read for its status
		}
		if ready != was {
			was = ready
			c.status(ctx, "Running", object{"running": object{}}, ready)
		}
	}
}

// status tells where the pod stands.
func (c *container) status(ctx context.Context, phase string, state object, ready bool) {
	what, is := c.pod.Spec.Containers[0], map[bool]string{true: "True", false: "False"}[ready]
	now := time.Now().UTC().Format(time.RFC3339)
	var old struct{ Status struct{ Conditions []object } }
	if err := c.node.cluster.api.send(ctx, "GET", c.pod.path(), nil, &old); err != nil {
		return // it is gone
	}
	conditions := []object{{"type": "Ready", "status": is, "lastTransitionTime": now}, {"type": "ContainersReady", "status": is, "lastTransitionTime": now}, {"type": "Initialized", "status": "True"}}
	for _, x := range old.Status.Conditions { // of the scheduler and of evictions
		if x["type"] == "PodScheduled" || x["type"] == "DisruptionTarget" {
			conditions = append(conditions, x)
		}
	}
	s := object{"phase": phase, "conditions": conditions, "startTime": now, "containerStatuses": []object{{
		"name": what.Name, "image": what.Image, "imageID": what.Image, "containerID": "process://" + c.pod.Metadata.UID, "ready": ready, "started": phase == "Running", "restartCount": 0, "state": state,
	}}}
	if c.ip != "" {
		s["hostIP"], s["podIP"], s["podIPs"] = "127.0.0.1", c.ip, []object{{"ip": c.ip}}
	}
	if err := c.node.cluster.api.send(ctx, "PATCH", c.pod.path()+"/status", object{"status": s}, nil); err != nil && ctx.Err() == nil && !is404(err) {
		c.node.cluster.t.Logf("status of %s: %v", c.pod.Metadata.Name, err)
	}
}

func is404(err error) bool { return is(err, 404) }

// box returns the container as a box: its volumes are made.
func (c *container) box(ctx context.Context) (b box, err error) {
	p, what := c.pod, c.pod.Spec.Containers[0]
	b = box{
		Root: filepath.Join(c.node.cluster.dir, "pods", p.Metadata.UID), Image: c.node.cluster.image, Hosts: filepath.Join(c.node.cluster.dir, "hosts"), Name: p.Spec.Hostname,
		User: p.Spec.SecurityContext.RunAsUser, Group: p.Spec.SecurityContext.RunAsGroup, ReadOnly: what.SecurityContext.ReadOnlyRootFilesystem,
		Line: slices.Concat(c.node.cluster.image.Entrypoint, what.Args), Env: slices.Clone(c.node.cluster.image.Env),
	}
	fields := map[string]string{"status.podIP": c.ip, "spec.nodeName": c.node.name, "metadata.namespace": p.Metadata.Namespace, "metadata.name": p.Metadata.Name}
	for _, e := range what.Env {
		value := e.Value
		if e.ValueFrom != nil {
			at := e.ValueFrom.FieldRef.FieldPath
			var ok bool
			if value, ok = fields[at]; !ok { // JOB_COMPLETION_INDEX
				value = p.Metadata.Labels["batch.kubernetes.io/job-completion-index"]
			}
		}
		b.Env = append(b.Env, e.Name+"="+value)
	}
	from := map[string]string{}
	for _, v := range p.Spec.Volumes {
		dir := filepath.Join(b.Root+"-volumes", v.Name)
		switch from[v.Name] = dir; {
		case v.PersistentVolumeClaim != nil:
			from[v.Name] = c.node.cluster.Runs
		case v.Secret != nil:
			err = errors.Join(err, c.write(ctx, dir, "secrets/"+v.Secret.SecretName))
		case v.ConfigMap != nil:
			err = errors.Join(err, c.write(ctx, dir, "configmaps/"+v.ConfigMap.Name))
		default:
			err = errors.Join(err, os.MkdirAll(dir, 0o775), os.Chown(dir, 0, p.Spec.SecurityContext.FsGroup), os.Chmod(dir, 0o775))
		}
	}
	for _, m := range what.VolumeMounts {
		b.Mounts = append(b.Mounts, mount{filepath.Join(from[m.Name], m.SubPath), m.MountPath, m.ReadOnly})
	}
	return b, err
}

// write writes a Secret or a ConfigMap as files.
func (c *container) write(ctx context.Context, dir, name string) error {
	var x struct {
		Kind string
		Data map[string]string
	}
	if err := c.node.cluster.api.send(ctx, "GET", "/api/v1/namespaces/"+c.pod.Metadata.Namespace+"/"+name, nil, &x); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for key, text := range x.Data {
		data := []byte(text)
		if x.Kind == "Secret" {
			var err error
			if data, err = base64.StdEncoding.DecodeString(text); err != nil {
				return err
			}
		}
		path := filepath.Join(dir, key)
		if err := errors.Join(os.WriteFile(path, data, 0o440), os.Chown(path, 0, c.pod.Spec.SecurityContext.FsGroup), os.Chmod(path, 0o440)); err != nil {
			return err
		}
	}
	return nil
}
