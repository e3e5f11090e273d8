// Package etcd keeps a coordinator's state in etcd: leadership by election, runs by
// compare-and-set transactions that hold only while the leadership does, workers by
// leases. The etcd is an embedded one, which listens nowhere, or an existing one.
package etcd

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// How long, in seconds, a coordinator that is not heard of still has the leadership,
// and a worker still counts as alive when no coordinator hears it. The second is to be
// longer, so that the next coordinator knows whom to wait for.
const (
	leaderTTL = 2
	workerTTL = 10
	aloneTTL  = 60 // TTL of a coordinator with an embedded etcd, which no other coordinator uses
)

const prefix = "/weft/"

// Store is an etcd.
type Store struct {
	client *clientv3.Client
	close  func()
	leader int64    // seconds that a leadership lasts without being renewed
	worker int64    // the same of a worker's lease
	warden *warden  // guard of an embedded etcd
	server embedded // embedded etcd, if there is one
}

// Broken returns a channel that is closed when an embedded etcd cannot go on. An existing one may
// come back.
func (s *Store) Broken() <-chan struct{} {
	if s.warden == nil {
		return nil
	}
	return s.warden.broken
}

// Err returns why it cannot go on, once Broken is closed.
func (s *Store) Err() error { return s.warden.err }

// Remote is an existing etcd.
type Remote struct {
	Endpoints      []string
	TLS            *tls.Config
	User, Password string
}

// Dial uses an existing etcd. What is not on this machine must be reached by TLS.
func Dial(r Remote) (*Store, error) {
	for _, e := range r.Endpoints {
		if err := secure(e, r.TLS); err != nil {
			return nil, err
		}
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: r.Endpoints, TLS: r.TLS, Username: r.User, Password: r.Password,
		DialTimeout: 3 * time.Second, DialKeepAliveTime: 2 * time.Second, DialKeepAliveTimeout: time.Second, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(r.Endpoints, ", "), err)
	}
	return &Store{client: client, close: func() {}, leader: leaderTTL, worker: workerTTL}, nil
}

// secure refuses an endpoint that would be spoken to in the clear over a network.
func secure(endpoint string, c *tls.Config) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" && u.Scheme != "unix" {
		return fmt.Errorf("%q is no endpoint of an etcd, such as https://10.0.0.1:2379", endpoint)
	}
	local := u.Scheme == "unix" || u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"
	switch {
	case local || u.Scheme == "https" && c != nil:
		return nil
	case u.Scheme == "https":
		return fmt.Errorf("%s needs certificates: --certs DIR names them", endpoint)
	}
	return fmt.Errorf("%s is not on this machine, and is not https: an etcd that is reached over a network must have TLS, and users", endpoint)
}

// Close gives up the connection, and the etcd itself if it is embedded.
// One that cannot go on cannot be closed either: it ends with the process.
func (s *Store) Close() error {
	select {
	case <-s.Broken():
		return nil
	default:
	}
	err := s.client.Close()
	s.close()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Probe reports why etcd takes no writes.
func (s *Store) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := s.client.Put(ctx, prefix+"probe", "")
	return err
}

// Leader returns the address of the coordinator that acts.
func (s *Store) Leader(ctx context.Context) (string, error) {
	got, err := s.client.Get(ctx, prefix+"leader/", clientv3.WithFirstCreate()...)
	if err != nil || len(got.Kvs) == 0 {
		return "", err
	}
	return string(got.Kvs[0].Value), nil
}

// Campaign waits for the leadership.
func (s *Store) Campaign(ctx context.Context, address string) (coordinator.Term, error) {
	granting, cancel := context.WithTimeout(ctx, 5*time.Second)
	lease, err := s.client.Grant(granting, s.leader)
	cancel()
	if err != nil {
		return nil, fmt.Errorf("etcd does not answer: %w", err)
	}
	session, err := concurrency.NewSession(s.client, concurrency.WithLease(lease.ID))
	if err != nil {
		return nil, err
	}
	election := concurrency.NewElection(session, strings.TrimSuffix(prefix+"leader/", "/"))
	campaign, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer stop()
	watch.Go(func() { // a lease that is lost while it waits would let it wait forever
		select {
		case <-session.Done():
			stop()
		case <-campaign.Done():
		}
	})
	if err := election.Campaign(campaign, address); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		session.Orphan()
		_, _ = s.client.Revoke(closing, lease.ID) // else it ends by itself
		return nil, fmt.Errorf("etcd does not answer: %w", err)
	}
	return &term{store: s, session: session, election: election, seen: map[string]int64{}}, nil
}

// term is a leadership.
type term struct {
	store    *Store
	session  *concurrency.Session
	election *concurrency.Election
	mu       sync.Mutex
	seen     map[string]int64 // revisions of runs
}

// Lost returns a channel that is closed when the leadership is.
func (t *term) Lost() <-chan struct{} { return t.session.Done() }

// leads holds while this is the one that acts.
func (t *term) leads() clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(t.election.Key()), "=", t.election.Rev())
}

func runKey(name string) string { return prefix + "runs/" + name }

// Load reads what was kept.
func (t *term) Load(ctx context.Context) (runs []core.Run, alive []string, err error) {
	got, err := t.store.client.Get(ctx, prefix+"runs/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return nil, nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kv := range got.Kvs {
		r, err := core.ParseRun(kv.Value)
		if err != nil {
			return nil, nil, fmt.Errorf("%s in etcd: %w", kv.Key, err)
		}
		t.seen[r.Name] = kv.ModRevision
		runs = append(runs, r)
	}
	members, err := t.store.client.Get(ctx, prefix+"workers/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, nil, err
	}
	for _, kv := range members.Kvs {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(kv.Key), prefix+"workers/"), "/")
		alive = append(alive, name)
	}
	slices.Sort(alive)
	return runs, slices.Compact(alive), nil
}

// Save keeps a run.
func (t *term) Save(ctx context.Context, r core.Run) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	same := clientv3.Compare(clientv3.ModRevision(runKey(r.Name)), "=", t.seen[r.Name])
	done, err := t.store.client.Txn(ctx).If(t.leads(), same).Then(clientv3.OpPut(runKey(r.Name), string(text))).Commit()
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if !done.Succeeded {
		return coordinator.ErrDeposed
	}
	t.seen[r.Name] = done.Header.Revision
	return nil
}

// Forget gives up a run.
func (t *term) Forget(ctx context.Context, run string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	done, err := t.store.client.Txn(ctx).If(t.leads()).Then(clientv3.OpDelete(runKey(run))).Commit()
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	if !done.Succeeded {
		return coordinator.ErrDeposed
	}
	delete(t.seen, run)
	return nil
}

// Resign gives the leadership up.
func (t *term) Resign(ctx context.Context) error {
	t.session.Orphan() // it is not to be renewed, whatever becomes of the next
	_, err := t.store.client.Revoke(ctx, t.session.Lease())
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil
	}
	return err
}

// Member records a worker.
func (t *term) Member(ctx context.Context, name string) (coordinator.Lease, error) {
	c := t.store.client
	granted, err := c.Grant(ctx, t.store.worker)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	// Several processes may try to be of one name: the end of one is not that of another.
	key := fmt.Sprintf("%sworkers/%s/%x", prefix, name, int64(granted.ID))
	if _, err := c.Put(ctx, key, "", clientv3.WithLease(granted.ID)); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	return lease{c, granted.ID}, nil
}

type lease struct {
	client *clientv3.Client
	id     clientv3.LeaseID
}

// Renew keeps the lease.
func (l lease) Renew(ctx context.Context) error {
	return expired(second(l.client.KeepAliveOnce(ctx, l.id)))
}

// Release ends it.
func (l lease) Release(ctx context.Context) error { return expired(second(l.client.Revoke(ctx, l.id))) }

func second[T any](_ T, err error) error { return err }

func expired(err error) error {
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return coordinator.ErrExpired
	}
	return err
}
