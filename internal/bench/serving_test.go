package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// TestSum has percentiles worked out by hand.
func TestSum(t *testing.T) {
	var took []float64
	for i := range 200 {
		took = append(took, float64(200-i))
	}
	got := sum(took, 3, 2*time.Second)
	if got != (Answers{Requests: 203, Failed: 3, Rate: 100, P50: 100, P99: 198, Max: 200}) {
		t.Errorf("%+v", got)
	}
	if one := sum([]float64{5}, 0, time.Second); one.P50 != 5 || one.P99 != 5 {
		t.Errorf("%+v", one)
	}
}

// TestSend: at a rate there are as many requests as it says, whoever answers how fast; failures are
// counted and have no time.
func TestSend(t *testing.T) {
	var asked atomic.Int64
	got := Traffic{Rate: 5000, Clients: 4}.Send(t.Context(), 10*time.Millisecond, func(context.Context, int) error {
		if asked.Add(1)%10 == 0 {
			return errors.New("refused")
		}
		return nil
	})
	if got.Requests != 50 || got.Failed != 5 || asked.Load() != 50 {
		t.Errorf("%+v after %d", got, asked.Load())
	}
	got = Traffic{Clients: 3}.Send(t.Context(), 10*time.Millisecond, func(_ context.Context, client int) error {
		if client > 2 {
			return errors.New("no such client")
		}
		return nil
	})
	if got.Requests < 3 || got.Failed > 0 {
		t.Errorf("%+v", got)
	}
}

// TestPeerServer: the peer's program is there.
func TestPeerServer(t *testing.T) {
	if text, err := PeerServer(); err != nil || len(text) == 0 {
		t.Errorf("%q, %v", text, err)
	}
}
