package cli_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/protocol/protocoltest"
)

// acts are attempts that no command of this program makes, by the name that asCommand has in a
// process which makes one. Each gets the address of a coordinator, a folder of certificates, and
// more, and prints the answers.
var acts = map[string]func(ctx context.Context, to *protocol.Client, args []string) error{
	"forge": forge, "spoil": spoil, "submit": submit, "flood": flood, "knock": knock,
}

// act makes an attempt and ends the process.
func act(do func(context.Context, *protocol.Client, []string) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	files, err := certs.In(os.Args[2])
	var config *tls.Config
	if err == nil {
		config, err = files.Load()
	}
	if err == nil {
		err = do(ctx, &protocol.Client{Addresses: []string{os.Args[1]}, TLS: config, Patience: time.Minute}, os.Args[3:])
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// forge joins under a name, and sends what only members of a run may.
func forge(ctx context.Context, to *protocol.Client, args []string) error {
	hello := protocol.Hello{Name: args[0], Data: args[0] + ":1"}
	answer, err := protocoltest.Join(ctx, to, hello, func(f *protocoltest.Forger) error {
		return f.Say(protocoltest.Forgeries(args[1], 1)...)
	})
	if err == nil {
		fmt.Println(answer.Kind, answer.Text)
	}
	return err
}

// spoil joins under a name, and has the run that it is given a part of fail, with texts that a
// terminal would obey.
func spoil(ctx context.Context, to *protocol.Client, args []string) error {
	_, err := protocoltest.Join(ctx, to, protocol.Hello{Name: args[0], Data: args[0] + ":1"}, func(f *protocoltest.Forger) error {
		mine, err := f.Assigned()
		if err != nil {
			return err
		}
		return f.Say(
			&protocol.Up{Kind: protocol.KindNote, Run: mine.Run, Epoch: mine.Epoch, Text: "\x1b[2J\u202espoiled"},
			&protocol.Up{Kind: protocol.KindFailed, Run: mine.Run, Epoch: mine.Epoch, Text: "\x1b]0;title\x07spoiled", User: true},
		)
	})
	return err
}

// submit submits configurations, a JSON object by the names of the runs, and prints how the runs
// ended, in the same way.
func submit(ctx context.Context, to *protocol.Client, args []string) error {
	var configs map[string]string
	if err := json.Unmarshal([]byte(args[0]), &configs); err != nil {
		return err
	}
	ended := map[string]core.Run{}
	for name, config := range configs {
		err := to.Submit(ctx, name, config)
		if err == nil {
			ended[name], err = to.Watch(ctx, name, func(core.Run) {})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(ended)
}

// flood submits as many runs as it is told, of so many bytes each, and prints how many were taken,
// and why the last of the others was not.
func flood(ctx context.Context, to *protocol.Client, args []string) error {
	prefix := args[0]
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	config := "algorithm: ppo\nenv: CartPole-v1\nsteps: 64\n#"
	config += strings.Repeat("x", size-len(config))
	var mu sync.Mutex
	var all sync.WaitGroup
	taken, why := 0, ""
	for w := range 8 {
		all.Go(func() {
			for i := w; i < n; i += 8 {
				err := to.Submit(ctx, prefix+strconv.Itoa(i), config)
				mu.Lock()
				if err == nil {
					taken++
				} else {
					why = err.Error()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	fmt.Println(taken, why)
	return ctx.Err()
}

// knock shows the coordinator a certificate of whatever authority, and none, and prints why it was
// refused.
func knock(ctx context.Context, to *protocol.Client, _ []string) error {
	foreign := to.TLS.Clone()
	foreign.GetConfigForClient, foreign.VerifyPeerCertificate, foreign.InsecureSkipVerify = nil, nil, true // it takes any server
	none := &tls.Config{InsecureSkipVerify: true}
	for name, config := range map[string]*tls.Config{"foreign": foreign, "none": none} {
		conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", to.Addresses[0])
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
			_ = conn.Close() // it is of no use
		}
		if err == nil {
			return fmt.Errorf("%s: it was let in", name)
		}
		fmt.Println(name, err)
	}
	return nil
}
