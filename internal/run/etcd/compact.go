package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// embedded is the part of an embedded etcd that has its file.
type embedded interface {
	ForceCommit()
	Size() int64 // bytes of the file as of the last commit
	Defrag() error
}

// Compact drops the history of what is kept in an embedded etcd, and gives the disk space
// back. It also ends the state in which an etcd whose space ran out takes nothing more.
// An existing etcd is its owner's to compact.
func (s *Store) Compact(ctx context.Context) (before, after int64, err error) {
	if s.server == nil {
		return 0, 0, errors.New("the coordinator's state is in an existing etcd: compact and defragment that one with etcdctl")
	}
	s.server.ForceCommit()
	before = s.server.Size()
	got, err := s.client.Get(ctx, prefix, clientv3.WithCountOnly())
	if err == nil {
		_, err = s.client.Compact(ctx, got.Header.Revision, clientv3.WithCompactPhysical())
	}
	if errors.Is(err, rpctypes.ErrCompacted) { // there was nothing new
		err = nil
	}
	if err == nil {
		err = s.server.Defrag()
	}
	if err == nil {
		_, err = s.client.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	}
	if err != nil {
		return before, 0, fmt.Errorf("etcd: %w", err)
	}
	return before, s.server.Size(), nil
}
