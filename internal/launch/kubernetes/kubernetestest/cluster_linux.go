// Package kubernetestest starts a real Kubernetes of three nodes on this machine, for tests: etcd,
// kube-apiserver, kube-scheduler and kube-controller-manager. It needs root, and their programs and
// kubectl in the folder that WEFT_KUBERNETES names; without them tests are skipped.
//
// No container runtime runs here. The pods of a node are carried out by an agent of the test, in
// the place of a kubelet: a container is a process with mounts, process ids and a read-only root of
// its own, made of the image's layer, as the image's user and without rights. Its network is that
// of the machine: a pod has an address of loopback, and names of pods are in its /etc/hosts, in the
// place of the cluster's DNS.
package kubernetestest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/port"
)

// Image is the name of the image that nodes have.
const Image = "weft:test"

// Cluster is a Kubernetes with the nodes n1, n2 and n3.
type Cluster struct {
	t     *testing.T
	dir   string
	Runs  string // folder that the claim "runs" is for
	api   *client
	image image

	mu    sync.Mutex
	nodes map[string]*node
	names map[string]string // addresses of pods, by name
	next  int
}

// variable names the folder of Kubernetes' programs.
const variable = "WEFT_KUBERNETES"

// Start starts a Kubernetes whose nodes have an image, which it writes to a file; kubectl finds the
// cluster. It ends with the test.
func Start(t *testing.T, write func(path string)) *Cluster {
	t.Helper()
	bin := os.Getenv(variable)
	if bin == "" {
		t.Skip(variable + "=FOLDER has a Kubernetes started to test with")
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil || os.Getuid() != 0 {
			t.Skipf("there is no Kubernetes to test with: %s is needed in %s, and root", name, bin)
		}
	}
	dir, err := os.MkdirTemp("", "weft-kubernetes-")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("KUBECONFIG", filepath.Join(dir, "config"))
	c := &Cluster{t: t, dir: dir, Runs: filepath.Join(dir, "runs"), nodes: map[string]*node{}, names: map[string]string{}}
	t.Cleanup(func() {
		if t.Failed() {
			for _, name := range []string{"apiserver", "controllers", "scheduler", "etcd"} {
				t.Logf("the end of %s: %s", name, tail(filepath.Join(dir, name+".log"), 1500))
			}
		}
		_ = os.RemoveAll(dir) // mounts end with their processes
	})
	for _, name := range []string{"runs", "pods", "logs"} {
		c.must(os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	c.must(os.Chmod(dir, 0o755))
	c.must(os.Chmod(c.Runs, 0o777))
	write(filepath.Join(dir, "image.tar"))
	c.image, err = unpack(filepath.Join(dir, "image.tar"), filepath.Join(dir, "image"))
	c.must(err)
	c.control(bin)
	c.volume()
	for _, name := range []string{"n1", "n2", "n3"} {
		c.Revive(name)
	}
	c.Await(t, "the nodes are ready", func() bool {
		return strings.Count(c.Kubectl("get", "nodes", "--no-headers", "-o", "custom-columns=T:.spec.taints"), "<none>") == 3
	})
	return c
}

func (c *Cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// control starts the control plane.
func (c *Cluster) control(bin string) {
	at := func(name string) string { return filepath.Join(c.dir, name) }
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	c.must(err)
	c.must(os.WriteFile(at("accounts.key"), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600))
	c.must(os.WriteFile(at("tokens"), []byte("admin-token,admin,admin,system:masters\npoor-token,poor,poor\n"), 0o600))
	store, peer, api := port.LastingAt("127.0.0.1"), port.LastingAt("127.0.0.1"), port.LastingAt("127.0.0.1")
	c.start(bin, "etcd", "etcd", "--data-dir="+at("etcd"), "--listen-client-urls=http://"+store, "--advertise-client-urls=http://"+store, "--listen-peer-urls=http://"+peer,
		"--initial-advertise-peer-urls=http://"+peer, "--initial-cluster=default=http://"+peer, "--unsafe-no-fsync")
	_, number, _ := strings.Cut(api, ":")
	c.start(bin, "apiserver", "kube-apiserver", "--etcd-servers=http://"+store, "--bind-address=127.0.0.1", "--secure-port="+number, "--cert-dir="+at("certs"), "--token-auth-file="+at("tokens"),
		"--service-account-key-file="+at("accounts.key"), "--service-account-signing-key-file="+at("accounts.key"), "--service-account-issuer=https://kubernetes.default.svc",
		"--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/24", "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount",
		"--kubelet-preferred-address-types=InternalIP", "--enable-priority-and-fairness=false")
	c.must(os.WriteFile(at("config"), fmt.Appendf(nil, config, api), 0o600))
	c.api = newClient("https://"+api, "admin-token")
	c.Await(c.t, "the API server answers", func() bool { return c.Kubectl("get", "--raw", "/readyz") == "ok" })
	c.start(bin, "controllers", "kube-controller-manager", "--kubeconfig="+at("config"), "--leader-elect=false", "--secure-port=0", "--node-monitor-grace-period=6s", "--node-monitor-period=1s",
		"--service-account-private-key-file="+at("accounts.key"))
	c.start(bin, "scheduler", "kube-scheduler", "--kubeconfig="+at("config"), "--leader-elect=false", "--secure-port=0")
}

const config = `apiVersion: v1
kind: Config
clusters:
  - {name: test, cluster: {server: "https://%s", insecure-skip-tls-verify: true}}
users:
  - {name: admin, user: {token: admin-token}}
  - {name: poor, user: {token: poor-token}}
  - {name: nobody, user: {token: no-token}}
contexts:
  - {name: test, context: {cluster: test, user: admin, namespace: default}}
  - {name: poor, context: {cluster: test, user: poor, namespace: default}}
  - {name: nobody, context: {cluster: test, user: nobody, namespace: default}}
current-context: test
`

// start starts a program of Kubernetes', which ends with the test.
func (c *Cluster) start(bin, name, program string, args ...string) {
	c.t.Helper()
	log, err := os.Create(filepath.Join(c.dir, name+".log"))
	c.must(err)
	cmd := exec.Command(filepath.Join(bin, program), args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, over := make(chan error), make(chan struct{})
	go func() {
		defer close(over)
		runtime.LockOSThread() // it ends with the thread that starts it
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
		}
	}()
	c.must(<-started)
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill() // or it has ended
		<-over
		_ = log.Close() // it was for a person
	})
}

// volume makes the volume and the claim "runs".
func (c *Cluster) volume() {
	c.Apply(fmt.Sprintf(`
{apiVersion: v1, kind: PersistentVolume, metadata: {name: runs}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteMany], storageClassName: "", persistentVolumeReclaimPolicy: Retain, hostPath: {path: %s}, claimRef: {namespace: default, name: runs}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: runs, namespace: default}, spec: {accessModes: [ReadWriteMany], storageClassName: "", resources: {requests: {storage: 1Gi}}}}
`, c.Runs))
}

// Apply makes objects.
func (c *Cluster) Apply(text string) {
	c.t.Helper()
	cmd := exec.Command("kubectl", "apply", "--filename=-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

// Kubectl returns what kubectl prints, also if it fails.
func (c *Cluster) Kubectl(args ...string) string {
	out, _ := exec.Command("kubectl", append(args, "--request-timeout=10s")...).CombinedOutput() // what it says is looked at
	return strings.TrimSpace(string(out))
}

// Await waits until something holds.
func (c *Cluster) Await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	over := time.After(3 * time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-over:
			t.Fatalf("%s: not within three minutes\n%s\n%s", what, c.Kubectl("get", "nodes,jobs,pods", "-o", "wide"), c.Kubectl("get", "events"))
		case <-tick.C:
		}
	}
}

// Revive starts the agent of a node, which is a new one or was killed.
func (c *Cluster) Revive(name string) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{cluster: c, name: name, pods: map[string]*container{}, cancel: cancel}
	c.must(n.register(ctx))
	c.mu.Lock()
	c.nodes[name] = n
	c.mu.Unlock()
	n.start(ctx)
	c.t.Cleanup(n.kill)
}

// Kill kills a node: its agent and all of its processes. Nothing is said to the cluster.
func (c *Cluster) Kill(name string) {
	c.mu.Lock()
	n := c.nodes[name]
	c.mu.Unlock()
	n.kill()
}

// KillPod kills the processes of a pod. The node says that it has failed.
func (c *Cluster) KillPod(prefix string) {
	c.t.Helper()
	c.mu.Lock()
	all := slices.Collect(maps.Values(c.nodes))
	c.mu.Unlock()
	for _, n := range all {
		if n.strike(prefix) {
			return
		}
	}
	c.t.Fatalf("no pod %s runs", prefix)
}

// NodeOf returns the node of the newest pod whose name begins so.
func (c *Cluster) NodeOf(prefix string) string {
	out := c.Kubectl("get", "pods", "--sort-by=.metadata.creationTimestamp", "--no-headers", "-o", "custom-columns=N:.metadata.name,AT:.spec.nodeName,P:.status.phase")
	node := ""
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[0], prefix) {
			node = f[1]
		}
	}
	return node
}

// address returns a new address for a pod.
func (c *Cluster) address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return fmt.Sprintf("127.0.%d.%d", 100+c.next/250, 1+c.next%250)
}

// rename gives an address a name, or takes it away, in the /etc/hosts of all pods.
func (c *Cluster) rename(host, address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names[host] = address; address == "" {
		delete(c.names, host)
	}
	var b bytes.Buffer
	b.WriteString("127.0.0.1 localhost\n")
	for _, host := range slices.Sorted(maps.Keys(c.names)) {
		fmt.Fprintf(&b, "%s %s\n", c.names[host], host)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "hosts"), b.Bytes(), 0o644); err != nil { // in place: pods have it mounted
		c.t.Error(err)
	}
}

// tail returns the end of a file.
func tail(path string, n int) string {
	text, _ := os.ReadFile(path) // for a person
	return string(text[max(0, len(text)-n):])
}
