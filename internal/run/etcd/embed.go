package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"github.com/weft-rl/weft/internal/run/checkpoint"
)

// Embed runs an etcd in this process, on the data in dir. It does not listen: no other process can
// connect, so it needs no users. An earlier process on that data is gone, since a lock is held
// while the data is in use.
func Embed(ctx context.Context, dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	w := newWarden(dir)
	e, err := start(ctx, configure(dir, w), w)
	if err != nil {
		unlock()
		return nil, err
	}
	s := &Store{client: v3client.New(e.Server), leader: aloneTTL, worker: workerTTL, warden: w, server: e.Server.Backend(), close: func() {
		e.Close()
		unlock()
	}}
	clearing, cancel := context.WithTimeout(ctx, starting)
	defer cancel()
	if _, err := s.client.Delete(clearing, prefix+"leader/", clientv3.WithPrefix()); err != nil {
		return nil, errors.Join(fmt.Errorf("etcd on %s: %w", dir, err), s.Close())
	}
	return s, nil
}

func configure(dir string, w *warden) *embed.Config {
	cfg := embed.NewConfig()
	cfg.Dir, cfg.Name = dir, "weft"
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(w.logger())
	nowhere := url.URL{Scheme: "http", Host: "localhost:0"}
	cfg.ListenPeerUrls, cfg.ListenClientUrls = nil, nil
	cfg.AdvertisePeerUrls, cfg.AdvertiseClientUrls = []url.URL{nowhere}, []url.URL{nowhere}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.EnableGRPCGateway = false
	cfg.TickMs, cfg.ElectionMs = 100, 500
	cfg.SnapshotCount, cfg.SnapshotCatchUpEntries = 500, 50 // entries that it has in memory, each of them a whole run
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModeRevision, "1000"
	return cfg
}

// lock holds the data. etcd has a lock of its own, but waits for it without an end.
func lock(dir string) (release func(), err error) {
	release, err = checkpoint.LockSoon(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return func() {}, nil
	case errors.Is(err, checkpoint.ErrLocked):
		return nil, fmt.Errorf("another coordinator uses the data in %s: end it, or give this one a folder of its own with --data", dir)
	}
	return release, err
}

// starting is how long an embedded etcd may take to answer, on a machine that is busy.
const starting = 30 * time.Second

// start starts an etcd and waits until it answers. One that cannot go on leaves the
// goroutines behind that it began with: the process is about to end.
func start(ctx context.Context, cfg *embed.Config, w *warden) (*embed.Etcd, error) {
	type started struct {
		*embed.Etcd
		err error
	}
	began := make(chan started, 1)
	go func() { // which ends early if etcd gives up in it
		e, err := embed.StartEtcd(cfg)
		began <- started{e, err}
	}()
	limit := time.After(starting)
	var e started
	select {
	case e = <-began:
	case <-w.broken:
		return nil, w.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-limit:
		return nil, fmt.Errorf("etcd on %s did not start within %v", cfg.Dir, starting)
	}
	if e.err != nil {
		return nil, fmt.Errorf("etcd on %s: %w", cfg.Dir, e.err)
	}
	err := error(nil)
	select {
	case <-e.Server.ReadyNotify():
		return e.Etcd, nil
	case <-w.broken:
		return nil, w.err
	case err = <-e.Err():
		err = fmt.Errorf("etcd on %s: %w", cfg.Dir, err)
	case <-ctx.Done():
		err = ctx.Err()
	case <-limit:
		err = fmt.Errorf("etcd on %s did not start within %v", cfg.Dir, starting)
	}
	e.Close()
	return nil, err
}
