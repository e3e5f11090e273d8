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
	"go.uber.org/zap"
)

// Embed runs an etcd in this process, on the data in dir. It listens nowhere: nobody
// else can speak with it, so it needs no users. Whoever acted on that data before
// is gone, since the data is locked for as long as it is used.
func Embed(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.Name = dir, "weft"
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	nowhere := url.URL{Scheme: "http", Host: "localhost:0"}
	cfg.ListenPeerUrls, cfg.ListenClientUrls = nil, nil
	cfg.AdvertisePeerUrls, cfg.AdvertiseClientUrls = []url.URL{nowhere}, []url.URL{nowhere}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.EnableGRPCGateway = false
	cfg.TickMs, cfg.ElectionMs = 50, 500
	cfg.AutoCompactionMode, cfg.AutoCompactionRetention = embed.CompactorModeRevision, "1000"
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("etcd on %s: %w", dir, err)
	}
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		e.Close()
		return nil, fmt.Errorf("etcd on %s: %w", dir, err)
	case <-time.After(30 * time.Second):
		e.Close()
		return nil, fmt.Errorf("etcd on %s did not start within 30 s", dir)
	}
	s := &Store{client: v3client.New(e.Server), close: e.Close, ttl: aloneTTL}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := s.client.Delete(ctx, prefix+"leader/", clientv3.WithPrefix()); err != nil {
		return nil, errors.Join(fmt.Errorf("etcd on %s: %w", dir, err), s.Close())
	}
	return s, nil
}
