package etcd

import (
	"context"
	"net/url"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// remote returns an etcd of its own that has users: root, and weft, who may do what a
// coordinator needs and no more.
func remote(t *testing.T) (endpoint string, stop func()) {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir = t.TempDir()
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	anywhere := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.ListenPeerUrls = []url.URL{anywhere}, nil
	cfg.AdvertisePeerUrls, cfg.AdvertiseClientUrls = []url.URL{anywhere}, []url.URL{anywhere}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.EnableGRPCGateway = false
	cfg.BcryptCost = 4 // the least: hashing takes long on a busy machine
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	<-e.Server.ReadyNotify()
	endpoint = "http://" + e.Clients[0].Addr().String()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.RoleAdd(ctx, "weft"))
	must(c.RoleGrantPermission(ctx, "weft", prefix, clientv3.GetPrefixRangeEnd(prefix), clientv3.PermissionType(clientv3.PermReadWrite)))
	for _, user := range []string{"root", "weft"} {
		must(c.UserAdd(ctx, user, "secret of "+user))
		if user == "root" {
			must(c.RoleAdd(ctx, "root"))
		}
		must(c.UserGrantRole(ctx, user, user))
	}
	must(c.AuthEnable(ctx))
	return endpoint, e.Close
}

// An existing etcd with users serves as well as the embedded one, and nobody without
// a password gets at it.
func TestRemote(t *testing.T) {
	at, stop := remote(t)
	defer stop()
	s, err := Dial(Remote{Endpoints: []string{at}, User: "weft", Password: "secret of weft"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	term := campaign(t, s.patient(), "a:1")
	if err := term.Save(t.Context(), run("r", 1)); err != nil {
		t.Error(err)
	}
	l, err := term.Member(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if runs, alive, err := term.Load(t.Context()); err != nil || len(runs) != 1 || len(alive) != 1 || runs[0].Phase != core.Waiting {
		t.Errorf("%+v, %q, %v", runs, alive, err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := term.Resign(t.Context()); err != nil {
		t.Error(err)
	}
	if x, err := Dial(Remote{Endpoints: []string{at}, User: "weft", Password: "wrong"}); err == nil {
		t.Error("a wrong password is let in", x.Close())
	}
	bare, err := Dial(Remote{Endpoints: []string{at}})
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	if _, err := bare.Leader(t.Context()); err == nil {
		t.Error("without a password it is told who acts")
	}
}

// An etcd that is gone is told of within seconds.
func TestGone(t *testing.T) {
	at, stop := remote(t)
	s, err := Dial(Remote{Endpoints: []string{at}, User: "weft", Password: "secret of weft"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	term := campaign(t, s, "a:1")
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := term.Save(ctx, run("r", 1)); err == nil {
		t.Error("it is kept nowhere")
	}
	<-term.Lost()
}
