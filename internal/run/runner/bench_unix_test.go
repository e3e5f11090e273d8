//go:build unix

package runner

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
)

// cpu returns what this process has computed.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSave measures one checkpoint of a run at its default settings: how long training
// stands still for it, and how much is computed for it in all.
func BenchmarkSave(b *testing.B) {
	for _, a := range []algo.Algorithm{ppo.Algorithm, dqn.Algorithm} {
		b.Run(a.Name, func(b *testing.B) {
			d, err := device.Open(device.Default)
			if err != nil {
				b.Fatal(err)
			}
			c := a.Config()
			if err := config.Defaults(c); err != nil {
				b.Fatal(err)
			}
			s, err := Prepare(Job{
				Algorithm: a, Config: c, Env: classic.CartPole, Device: d, Seed: 1, Steps: 1,
				Dir: filepath.Join(b.TempDir(), "run"), CheckpointEvery: time.Hour,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			s.begun = s.Now()
			still, before := time.Duration(0), cpu(b)
			for b.Loop() {
				began := time.Now()
				if err := s.save(); err != nil {
					b.Fatal(err)
				}
				still += time.Since(began)
				if err := s.settle(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(still.Nanoseconds())/float64(b.N), "ns-still/op")
			b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/float64(b.N), "ns-cpu/op")
		})
	}
}
