package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/guest"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/program"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/worker"
)

// programFlags are the flags of worker about programs that runs bring.
type programFlags struct {
	none   bool
	folder string
	most   int
	listen string
}

func (f *programFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.none, "no-programs", false, "take no runs that bring their own program")
	flags.StringVar(&f.folder, "programs", "", "`folder` that keeps the programs which runs brought; default: weft/programs in this user's cache folder")
	flags.IntVar(&f.most, "max-programs", 2048, "maximum size of that folder, in `MiB`; programs unused for longest are removed")
	flags.StringVar(&f.listen, "programs-listen", "", "`address` on which such programs listen for those of other workers; default: the host of --listen and any free port")
}

func (f *programFlags) check() error {
	if f.most < 1 || f.most > 1<<20 {
		return fmt.Errorf("--max-programs: %d is not a bound: take a number from 1 to %d", f.most, 1<<20)
	}
	return nil
}

// guestOptions say how a worker runs the programs that runs bring.
type guestOptions struct {
	programFlags
	client protocol.Client // its connection to the coordinator
}

// guests returns how a worker runs programs that runs bring; nil if it does not. A worker that has
// a parent is for one run, which has that very program.
func (f *workerFlags) guests(o *worker.Options) *guestOptions {
	if f.programs.none || f.withParent || !guest.Supported {
		return nil
	}
	return &guestOptions{f.programs, protocol.Client{Addresses: o.Coordinators, TLS: o.TLS}}
}

// host has a machine carry out parts of runs that bring a program, too.
func (m *machine) host(o machineOptions) error {
	folder := o.Programs.folder
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("there is no folder for programs that runs bring (%w): name one with --programs, or refuse them with --no-programs", err)
		}
		folder = filepath.Join(cache, "weft", "programs")
	}
	kept, err := store.Open(o.Store)
	if err != nil {
		return err
	}
	place, err := store.Absolute(o.Store)
	if err != nil {
		return err
	}
	l, address, err := o.listenGuests()
	if err != nil {
		return err
	}
	most := int64(o.Programs.most) << 20
	f := &fetcher{kept: &program.Folder{Path: folder, Most: most, All: most}, store: kept.Under(programs), client: &o.Programs.client}
	h := &guest.Host{
		Fetch: f.fetch, Listener: l, Log: o.Log,
		Setup: guest.Setup{Place: place, Remote: !filepath.IsAbs(place), Allow: o.Allow, Connect: int64(o.Connect)}, Store: kept,
	}
	f.shares = h.Setup.Remote
	m.Runner, m.Guest = either{m.Runner, h}, address
	closeNode := m.Close
	m.Close = func() error { return errors.Join(l.Close(), closeNode()) }
	return nil
}

// listenGuests opens the listener of the data plane of programs that runs bring, and returns the
// address at which it is reached.
func (o machineOptions) listenGuests() (*net.TCPListener, string, error) {
	at := o.Programs.listen
	if at == "" {
		host, _, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return nil, "", err
		}
		at = net.JoinHostPort(host, "0")
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, "", fmt.Errorf("programs that runs bring: %w", err)
	}
	address := l.Addr().String()
	if o.Advertise != "" {
		host, _, err := net.SplitHostPort(o.Advertise)
		if err != nil {
			return nil, "", errors.Join(err, l.Close())
		}
		_, port, _ := net.SplitHostPort(address)
		address = net.JoinHostPort(host, port)
	}
	return l.(*net.TCPListener), address, nil
}

// either carries out parts by the worker itself, or by the program that the run brought.
type either struct{ own, guest part.Runner }

// Run implements part.Runner.
func (e either) Run(ctx context.Context, a part.Assignment, to part.Reporter) error {
	if a.Program != nil {
		return e.guest.Run(ctx, a, to)
	}
	return e.own.Run(ctx, a, to)
}

// fetcher gets programs to this machine.
type fetcher struct {
	kept   *program.Folder
	store  store.Store // programs beside the checkpoints
	shares bool        // it puts programs there; in a folder, that is the coordinator's affair
	client *protocol.Client
}

// fetch returns the path of a program: from this machine's folder, the store or the coordinator.
func (f *fetcher) fetch(ctx context.Context, p part.Program) (string, error) {
	path, err := f.kept.Find(p)
	if err == nil || !errors.Is(err, program.ErrNone) {
		return path, err
	}
	if f.fromStore(ctx, p) != nil { // it may not be there
		err := f.client.Program(ctx, p, func(r io.Reader) error { return f.kept.Put(ctx, p, r) })
		if err != nil {
			return "", err
		}
		if f.shares {
			_ = f.share(ctx, p) // or others fetch it from the coordinator
		}
	}
	return f.kept.Find(p)
}

// maxShared is how many programs the store of checkpoints has.
const maxShared = 16

// share puts a program into the store for other workers. Where there are many, others leave: they
// can be had from the coordinator.
func (f *fetcher) share(ctx context.Context, p part.Program) error {
	names, err := f.store.List(ctx)
	for i := 0; err == nil && i <= len(names)-maxShared; i++ {
		err = f.store.Delete(ctx, names[i])
	}
	if err != nil {
		return err
	}
	path, err := f.kept.Find(p)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.store.Put(ctx, p.SHA256, file, p.Size), file.Close())
}

func (f *fetcher) fromStore(ctx context.Context, p part.Program) error {
	r, _, err := f.store.Get(ctx, p.SHA256)
	if err != nil {
		return err
	}
	return errors.Join(f.kept.Put(ctx, p, r), r.Close())
}

// guest returns the command of a program that a run brought, which carries out a worker's part.
func (c *command) guest() *cobra.Command {
	return &cobra.Command{
		Use:    guest.Command,
		Short:  "Carry out a part of a run for a worker",
		Long:   "Guest carries out a part of a run that brought this program. A worker starts it, with a connection to the worker.",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.works()
			c.started = true
			conn, l, err := guest.Inherited()
			if err != nil {
				return fmt.Errorf("this command is for workers to start: %w", err)
			}
			ctx := context.WithoutCancel(cmd.Context()) // the worker decides when it ends
			return guest.Serve(ctx, conn, func(ctx context.Context, s guest.Setup, a part.Assignment, to part.Reporter) error {
				return c.carryOut(ctx, l, s, a, to)
			})
		},
	}
}

// carryOut carries out an assignment whose data plane is at a listener. Processes of the epoch know
// each other by certificates that are made of its secret.
func (c *command) carryOut(ctx context.Context, l net.Listener, s guest.Setup, a part.Assignment, to part.Reporter) error {
	me := a.Workers[a.Me]
	host, _, err := net.SplitHostPort(me.Data)
	if err != nil {
		return err
	}
	tls, err := certs.OfSecret(a.Secret, me.Name, host)
	if err != nil {
		return err
	}
	for i := range a.Workers {
		a.Workers[i].Holder = a.Workers[i].Name
	}
	how := mesh.Options{Listener: l, TLS: tls, Advertise: me.Data, NoSocket: true, Connect: time.Duration(s.Connect), Log: to.Note}
	kept, err := storeOf(s)
	if err != nil {
		return err
	}
	r, node, err := dataPlane(machineOptions{Set: &c.set, Store: s.Place, Kept: kept, Allow: s.Allow}, how)
	if err != nil {
		return err
	}
	return errors.Join(r.Run(ctx, a, to), node.Close())
}

// storeOf returns the store of a program: the folder itself, or what the worker has.
func storeOf(s guest.Setup) (store.Store, error) {
	if !s.Remote {
		return store.Open(s.Place)
	}
	conn, err := guest.InheritedStore()
	if err != nil {
		return nil, err
	}
	return alone{guest.RemoteStore(conn)}, nil
}

// alone is the store of one run, whose worker lets it see no other.
type alone struct{ store.Store }

// Under returns the run's own store, whatever its name.
func (a alone) Under(string) store.Store { return a.Store }
