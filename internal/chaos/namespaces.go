package chaos

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/run/certs"
)

// namespaces is a network of network namespaces: one for each process, joined by a bridge
// in that of this process. Everything goes over it with TLS.
type namespaces struct {
	names  []string // the coordinator's last
	made   int
	dir    string
	config *tls.Config
}

// The addresses are those of a network that only the namespaces see.
const (
	bridge = "weft0"
	own    = "10.77.0.254"
	listen = "7700"
)

func (n *namespaces) address(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

func newNamespaces(workers int, dir string) (_ *namespaces, err error) {
	n := &namespaces{dir: filepath.Join(dir, "certs")}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	hosts := []string{own}
	for i := range workers + 1 {
		n.names = append(n.names, fmt.Sprintf("weft-%d-%d", os.Getpid(), i))
		hosts = append(hosts, n.address(i))
	}
	if err := certs.Init(n.dir); err != nil {
		return nil, err
	}
	files, err := certs.Issue(n.dir, "chaos", certs.Roles(), hosts...)
	if err != nil {
		return nil, err
	}
	if n.config, err = files.Load(); err != nil {
		return nil, err
	}
	if err := commands("ip link set lo up", "ip link add "+bridge+" type bridge", "ip addr add "+own+"/24 dev "+bridge, "ip link set "+bridge+" up"); err != nil {
		return nil, err
	}
	for i, name := range n.names {
		n.made++
		if err := commands(
			"ip netns add "+name,
			fmt.Sprintf("ip link add v%d type veth peer name eth0 netns %s", i, name),
			fmt.Sprintf("ip link set v%d master %s", i, bridge),
			fmt.Sprintf("ip link set v%d up", i),
			fmt.Sprintf("ip -n %s addr add %s/24 dev eth0", name, n.address(i)),
			fmt.Sprintf("ip -n %s link set eth0 up", name),
			fmt.Sprintf("ip -n %s link set lo up", name),
		); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// commands runs commands one after the other.
func commands(lines ...string) error {
	for _, line := range lines {
		f := strings.Fields(line)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		text, err := exec.CommandContext(ctx, f[0], f[1:]...).CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, strings.TrimSpace(string(text)))
		}
	}
	return nil
}

// place returns a process of a namespace.
func (n *namespaces) place(i int, flags ...string) place {
	return place{prefix: []string{"ip", "netns", "exec", n.names[i]}, flags: append(flags, "--certs", n.dir)}
}

func (n *namespaces) last() int { return len(n.names) - 1 }

func (n *namespaces) coordinator() place {
	return n.place(n.last(), "--listen", net.JoinHostPort(n.address(n.last()), listen))
}

func (n *namespaces) worker(i int) place {
	at := net.JoinHostPort(n.address(i), listen)
	return n.place(i, "--join", net.JoinHostPort(n.address(n.last()), listen), "--listen", at, "--advertise", at)
}

func (n *namespaces) listens(string) {}

func (n *namespaces) reach() (string, []string, *tls.Config) {
	return net.JoinHostPort(n.address(n.last()), listen), []string{"--certs", n.dir}, n.config
}

// disturb takes a worker's link down, for a moment where connections are cut; where
// packets are delayed it makes the link so slow that some are lost.
func (n *namespaces) disturb(i int, k Kind) error {
	down := fmt.Sprintf("ip link set v%d down", i)
	switch k {
	case CutControl, CutData:
		if err := commands(down); err != nil {
			return err
		}
		rest(context.Background(), 300*time.Millisecond)
		return n.up(i)
	case Drop:
		return commands(down)
	case Delay:
		return commands(fmt.Sprintf("tc qdisc add dev v%d root tbf rate 4mbit burst 16kb latency 50ms", i))
	}
	return fmt.Errorf("%s is nothing that a network does", k)
}

func (n *namespaces) up(i int) error { return commands(fmt.Sprintf("ip link set v%d up", i)) }

func (n *namespaces) mend(i int) error {
	_ = commands(fmt.Sprintf("tc qdisc del dev v%d root", i)) // there may be none
	return n.up(i)
}

// sever has two workers' namespaces drop what is for the other.
func (n *namespaces) sever(i, j int, cut bool) error {
	do := "del"
	if cut {
		do = "add"
	}
	return commands(
		fmt.Sprintf("ip -n %s route %s blackhole %s/32", n.names[i], do, n.address(j)),
		fmt.Sprintf("ip -n %s route %s blackhole %s/32", n.names[j], do, n.address(i)),
	)
}

func (n *namespaces) workers(func() []int) {}

func (n *namespaces) severs() bool { return false }
func (n *namespaces) name() string { return "namespaces" }

// close takes the links and namespaces away. A link would go with its namespace, but the kernel
// takes its time over that, and the next run wants the name.
func (n *namespaces) close() error {
	var errs []error
	for i, name := range n.names[:n.made] {
		_ = commands(fmt.Sprintf("ip link del v%d", i)) // there is none if it could not be made
		errs = append(errs, commands("ip netns del "+name))
	}
	return errors.Join(append(errs, commands("ip link del "+bridge))...)
}
