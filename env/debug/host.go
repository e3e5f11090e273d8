package debug

import (
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Host is Host-v0: Identity as plain Go. It exists so that the path of host
// environments can be tested with a task whose solution is known.
var Host = env.Entry{
	ID: "Host-v0", Doc: "Identity-v0 as a host environment: name the symbol that is shown", Kind: env.Control,
	Options: func() any { o := identityDefaults; return &o },
	New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
		o, err := settings[IdentityOptions](options)
		if err == nil {
			err = o.check()
		}
		if err != nil {
			return nil, err
		}
		return env.Hosts(s, n, o.spec("Host-v0"), func(int) (env.Host, error) { return &host{symbols: o.Symbols}, nil })
	},
}

type host struct{ symbols, shown int }

func (h *host) Reset(k rl.Key, obs env.Row) {
	h.shown = k.IntN(0, 0, h.symbols)
	obs.Float32("")[h.shown] = 1
}

func (h *host) Step(k rl.Key, action, obs env.Row) (reward float64, terminated, truncated bool) {
	if int(action.Int32("")[0]) == h.shown {
		reward = 1
	}
	h.Reset(k, obs)
	return reward, false, false
}

// MarshalBinary returns the symbol shown.
func (h *host) MarshalBinary() ([]byte, error) { return fmt.Append(nil, h.shown), nil }

// UnmarshalBinary restores the saved state.
func (h *host) UnmarshalBinary(data []byte) error {
	_, err := fmt.Sscan(string(data), &h.shown)
	return err
}
