package guest_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/guest"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/store/storetest"
)

// through returns a store as a program has it through its worker.
func through(t *testing.T, s store.Store) store.Store {
	t.Helper()
	a, b := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		guest.ServeStore(a, s)
	}()
	t.Cleanup(func() {
		b.Close()
		<-served
	})
	return guest.RemoteStore(b)
}

// TestStore: a store that a program reaches through its worker is one.
func TestStore(t *testing.T) {
	t.Run("contract", func(t *testing.T) { storetest.Contract(t, through(t, store.Folder(t.TempDir()))) })
	t.Run("names", func(t *testing.T) { storetest.Names(t, through(t, store.Folder(t.TempDir()))) })
	t.Run("whole", func(t *testing.T) { storetest.Whole(t, through(t, store.Folder(t.TempDir()))) })
}

// full is a store on a full disk.
type full struct{ store.Store }

func (full) List(context.Context) ([]string, error) {
	return nil, part.Failure{Text: "no space left", Permanent: true}.Err()
}

// TestStoreFull: what a person has to mend is told as such.
func TestStoreFull(t *testing.T) {
	_, err := through(t, full{}).List(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no space left") || !part.FailureOf(err).Permanent {
		t.Error(err)
	}
}
