package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"go/version"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/mesh/ring"
)

// Go looks for the Go command, which builds authors' packages.
func Go() Check {
	return Check{"go", func(ctx context.Context) Finding {
		have, need := "", version.Lang(runtime.Version())
		out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
		if have = strings.TrimSpace(string(out)); err != nil {
			return missing("there is no go command, which weft train ./my/algo builds packages with", "install Go "+strings.TrimPrefix(need, "go")+" or later")
		}
		if version.Compare(have, need) < 0 {
			return missing(have+" is older than this program's "+need, "install Go "+strings.TrimPrefix(need, "go")+" or later, to train packages of your own")
		}
		return ok(have + ", for packages of your own")
	}}
}

// Films looks for the program that makes films as MP4.
func Films() Check {
	return Check{"ffmpeg", func(context.Context) Finding {
		if _, err := exec.LookPath("ffmpeg"); err != nil {
			return missing("not on the PATH, for films as MP4 (weft eval --video)", "install ffmpeg, or film as GIF, which needs nothing")
		}
		return ok("films can be MP4")
	}}
}

// CPU tells the processor's cores.
func CPU() Check {
	return Check{"cpu", func(context.Context) Finding {
		n, used := runtime.NumCPU(), runtime.GOMAXPROCS(0)
		text := fmt.Sprintf("%d cores of %s", n, runtime.GOARCH)
		if used < n {
			return ok(fmt.Sprintf("%s, of which GOMAXPROCS allows %d", text, used))
		}
		if runtime.GOARCH != "amd64" {
			text += ", computed on by plain Go code"
		}
		return ok(text)
	}}
}

// Memory judges the bytes of memory that this process may use; 0 is unknown.
func Memory(bytes int64) Check {
	return Check{"memory", func(context.Context) Finding {
		switch {
		case bytes == 0:
			return ok("unknown on " + runtime.GOOS)
		case bytes < 1<<30:
			return wrong(size(bytes)+" is little", "give the machine or its control group 1 GiB or more, or keep replays on disk (--storage disk)")
		}
		return ok(size(bytes))
	}}
}

// Disk judges the space for runs in a folder, and whether files can be written and locked there.
func Disk(dir string) Check {
	return Check{"disk", func(context.Context) Finding {
		probe, err := os.MkdirTemp(dir, ".weft-doctor-")
		if err != nil {
			return wrong(fmt.Sprintf("nothing can be written here (%v)", err), "change to a folder of your own, or name one with --out")
		}
		defer os.RemoveAll(probe)
		release, err := checkpoint.Lock(probe)
		if err == nil {
			release()
		}
		free, known := free(dir)
		switch {
		case known && free < 1<<30:
			return wrong("only "+size(free)+" are free here", "make room: checkpoints need several times the size of what is trained")
		case errors.Is(err, errors.ErrUnsupported):
			return ok(roomy(free, known) + "; this file system has no locks: do not resume a run twice at once")
		case err != nil:
			return wrong(fmt.Sprintf("files here cannot be locked (%v)", err), "use another folder for runs")
		}
		return ok(roomy(free, known))
	}}
}

// roomy says how much space there is.
func roomy(free int64, known bool) string {
	if !known {
		return "files can be written here; how much space there is is unknown on " + runtime.GOOS
	}
	return size(free) + " free here"
}

// Files judges how many files this process may have open.
func Files() Check {
	return Check{"files", func(context.Context) Finding {
		n, known := openFiles()
		switch {
		case !known:
			return ok("no limit on open files is known")
		case n < 1024:
			return wrong(fmt.Sprintf("only %d files may be open at once", n), "raise it with ulimit -n 4096, or in the limits of the service or container")
		}
		return ok(fmt.Sprintf("%d may be open at once", n))
	}}
}

// Shared looks whether processes of this machine can share memory.
func Shared() Check {
	return Check{"shared memory", func(context.Context) Finding {
		err := ring.Probe()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return ok("not on " + runtime.GOOS + ": processes of a run exchange messages by sockets")
		case err != nil:
			return missing(fmt.Sprintf("it cannot be made (%v)", err), "allow memfd_create and eventfd in the sandbox: until then processes of a run use sockets, and environments in Python do not start")
		}
		return ok("processes of a run exchange messages through it")
	}}
}

// Port is where a command listens by default.
type Port struct{ Command, Address string }

// Ports looks whether the usual ports are free.
func Ports(all []Port) Check {
	return Check{"ports", func(ctx context.Context) Finding {
		var taken, free []string
		for _, p := range all {
			l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.Address)
			switch {
			case err == nil:
				_ = l.Close() // nobody has connected
				free = append(free, p.Address)
			case errors.Is(err, syscall.EADDRINUSE):
				taken = append(taken, fmt.Sprintf("%s (%s)", p.Address, p.Command))
			default:
				return wrong(fmt.Sprintf("nothing can listen at %s (%v)", p.Address, err), "allow this process to listen on the loopback interface")
			}
		}
		if len(taken) > 0 {
			return missing(strings.Join(taken, ", ")+" in use", "it may be a server of yours that runs already; --listen names another address")
		}
		return ok(strings.Join(free, ", ") + " are free")
	}}
}

// Devices returns a check of each kind of device. They are looked for once.
func Devices(list func() []device.Info) (out []Check) {
	for _, name := range []string{"xla:cpu", "cuda"} {
		out = append(out, Check{name, func(context.Context) Finding {
			var usable []string
			found := missing("there is none", "weft devices lists what there is")
			for _, d := range list() {
				switch {
				case d.Name != name && !strings.HasPrefix(d.Name, name+":"):
				case d.Usable:
					usable = append(usable, strings.TrimSpace(d.Name+" "+d.What))
				default:
					found = missing(reason(errors.New(d.Why)))
				}
			}
			if len(usable) > 0 {
				return ok(strings.Join(usable, ", "))
			}
			return found
		}})
	}
	return out
}

// size writes a number of bytes.
func size(n int64) string { return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30)) }
