package kubernetestest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// node is the agent of a node, in the place of a kubelet.
type node struct {
	cluster *Cluster
	name    string
	cancel  context.CancelFunc
	logs    net.Listener // the API server asks here for the output of containers
	running sync.WaitGroup

	mu   sync.Mutex
	dead bool
	pods map[string]*container // by UID
}

// register makes the node's object, or takes one that is there.
func (n *node) register(ctx context.Context) (err error) {
	if n.logs, err = tls.Listen("tcp", "127.0.0.1:0", selfSigned()); err != nil {
		return err
	}
	err = n.cluster.api.send(ctx, "POST", "/api/v1/nodes", object{"metadata": object{"name": n.name, "labels": object{"kubernetes.io/hostname": n.name, "kubernetes.io/os": "linux"}}}, nil)
	if is(err, 409) {
		err = nil
	}
	if err != nil {
		return err
	}
	_ = n.cluster.api.send(ctx, "POST", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", object{"metadata": object{"name": n.name}, "spec": object{"holderIdentity": n.name}}, nil) // there may be one
	return n.beat(ctx)
}

// beat says that the node is well.
func (n *node) beat(ctx context.Context) error {
	now := time.Now().UTC()
	room := object{"cpu": "4", "memory": "8Gi", "pods": "20", "ephemeral-storage": "10Gi"}
	err := n.cluster.api.send(ctx, "PATCH", "/api/v1/nodes/"+n.name+"/status", object{"status": object{
		"capacity": room, "allocatable": room,
		"conditions":      []object{{"type": "Ready", "status": "True", "reason": "AgentReady", "lastHeartbeatTime": now.Format(time.RFC3339)}},
		"addresses":       []object{{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": n.name}},
		"daemonEndpoints": object{"kubeletEndpoint": object{"Port": n.logs.Addr().(*net.TCPAddr).Port}},
	}}, nil)
	if err == nil {
		err = n.cluster.api.send(ctx, "PATCH", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+n.name, object{"spec": object{"leaseDurationSeconds": 4, "renewTime": now.Format("2006-01-02T15:04:05.000000Z07:00")}}, nil)
	}
	return err
}

// start has the agent do its work until it is killed.
func (n *node) start(ctx context.Context) {
	n.running.Go(func() {
		_ = http.Serve(n.logs, http.HandlerFunc(n.serveLogs)) // until it is closed
	})
	n.running.Go(func() {
		for ctx.Err() == nil {
			_ = n.beat(ctx) // again soon
			wait(ctx, time.Second)
		}
	})
	n.running.Go(func() {
		for ctx.Err() == nil {
			_ = n.cluster.api.watch(ctx, n.name, func(kind string, p pod) { n.see(ctx, kind, p) }) // again soon
			wait(ctx, 200*time.Millisecond)
		}
	})
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// see brings about what the cluster wants of a pod.
func (n *node) see(ctx context.Context, kind string, p pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.pods[p.Metadata.UID]
	over := p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed"
	switch {
	case n.dead:
	case kind == "DELETED":
		if c != nil {
			c.end(0)
		}
	case c == nil && p.Metadata.DeletionTimestamp != "":
		n.running.Go(func() { n.forget(ctx, p) }) // of an agent before this one
	case c == nil && p.Status.Phase == "Running":
		n.running.Go(func() { n.failed(ctx, p) })
	case c == nil && !over:
		c = &container{node: n, pod: p, over: make(chan struct{}), asked: make(chan int, 1)}
		n.pods[p.Metadata.UID] = c
		n.running.Go(func() { c.run(ctx) })
	case c != nil && p.Metadata.DeletionTimestamp != "":
		grace := p.Spec.TerminationGracePeriodSeconds
		if p.Metadata.DeletionGracePeriodSeconds != nil {
			grace = *p.Metadata.DeletionGracePeriodSeconds
		}
		n.running.Go(func() {
			c.end(grace)
			<-c.over
			n.forget(ctx, p)
		})
	}
}

// forget says that nothing of a deleted pod is left.
func (n *node) forget(ctx context.Context, p pod) {
	_ = n.cluster.api.send(ctx, "DELETE", p.path(), object{"gracePeriodSeconds": 0, "preconditions": object{"uid": p.Metadata.UID}}, nil) // it may be gone
}

// failed says that a pod was lost with the agent before this one.
func (n *node) failed(ctx context.Context, p pod) {
	_ = n.cluster.api.send(ctx, "PATCH", p.path()+"/status", object{"status": object{"phase": "Failed", "reason": "NodeRestarted", "containerStatuses": []object{
		{"name": p.Spec.Containers[0].Name, "image": p.Spec.Containers[0].Image, "imageID": "", "ready": false, "restartCount": 0, "state": object{"terminated": object{"exitCode": 137, "reason": "ContainerStatusUnknown"}}},
	}}}, nil) // it may be gone
}

// kill ends the agent and its containers at once.
func (n *node) kill() {
	n.mu.Lock()
	n.dead = true
	all := n.pods
	n.mu.Unlock()
	n.cancel()
	_ = n.logs.Close() // the test may have done so
	for _, c := range all {
		c.kill()
	}
	n.running.Wait()
}

// strike kills the container of a pod that runs.
func (n *node) strike(prefix string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.pods {
		if strings.HasPrefix(c.pod.Metadata.Name, prefix) && c.kill() {
			return true
		}
	}
	return false
}

// serveLogs answers with the output of a container, as a kubelet does.
func (n *node) serveLogs(w http.ResponseWriter, r *http.Request) {
	words := strings.Split(path.Clean(r.URL.Path), "/") // /containerLogs/NAMESPACE/POD/CONTAINER
	var c *container
	n.mu.Lock()
	for _, x := range n.pods {
		if len(words) == 5 && x.pod.Metadata.Name == words[3] {
			c = x
		}
	}
	n.mu.Unlock()
	if c == nil {
		http.Error(w, "no such pod", http.StatusNotFound)
		return
	}
	f, err := os.Open(c.log())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer f.Close()
	for over := r.URL.Query().Get("follow") != "true"; ; {
		_, err := io.Copy(w, f)
		if over || err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-c.over:
			over = true
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

// selfSigned returns a configuration with a certificate that nobody checks.
func selfSigned() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // there are random numbers
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		panic(err) // the template is a good one
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
