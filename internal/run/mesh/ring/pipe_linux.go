package ring

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Pipe is one end: one goroutine may read while another writes.
type Pipe struct {
	conn *net.UnixConn
	mem  []byte
	// Readers and writers hold their lock: the memory stays mapped until both are done.
	reading sync.Mutex
	in      reader
	writing sync.Mutex
	out     writer
	using   sync.RWMutex // held by all other users of the memory

	// came and room wake this side's reader and writer, the other two the other side's.
	came, room, theirs, theirRoom *os.File

	gone    atomic.Bool // the other side is
	watcher sync.WaitGroup
	closing sync.Once
}

// seals fix the size of the memory, so that a peer cannot shrink it under a reader.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW

// bells is how many eventfds there are: for each side, that something came and that
// there is room.
const bells = 4

// Offer makes a pipe and hands its other end over a connection, which is the pipe's from
// now on, and on which nothing else is sent.
func Offer(conn *net.UnixConn) (*Pipe, error) {
	fds, err := create()
	if err == nil {
		if _, _, err = conn.WriteMsgUnix([]byte{bells}, unix.UnixRights(fds...), nil); err == nil {
			return open(conn, fds, false)
		}
	}
	closeAll(fds)
	return nil, fmt.Errorf("shared memory: %w", err)
}

// Take opens the end of a pipe that a peer offers.
func Take(conn *net.UnixConn) (*Pipe, error) {
	fds, err := receive(conn)
	if err == nil {
		if err = inspect(fds[0]); err == nil {
			return open(conn, fds, true)
		}
	}
	closeAll(fds)
	return nil, fmt.Errorf("shared memory: %w", err)
}

// Probe reports what keeps this process from making pipes, such as a sandbox that allows no memfd.
func Probe() error {
	fds, err := create()
	closeAll(fds)
	return err
}

// create makes the memory and the bells. They stay plain numbers until they are used:
// an os.File would make them block when it is asked for its own.
func create() (fds []int, err error) {
	fd, err := unix.MemfdCreate("weft", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	fds = append(fds, fd)
	if err := unix.Ftruncate(fd, total); err != nil {
		return fds, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fds, err
	}
	for range bells {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// receive takes what create made in the other process.
func receive(conn *net.UnixConn) (fds []int, err error) {
	said, rights := make([]byte, 1), make([]byte, unix.CmsgSpace((1+bells)*4))
	n, rn, _, _, err := conn.ReadMsgUnix(said, rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		if more, err := unix.ParseUnixRights(&messages[i]); err == nil {
			fds = append(fds, more...)
		}
	}
	if n != 1 || said[0] != bells || len(fds) != 1+bells {
		return fds, errors.New("the other process offered none")
	}
	return fds, nil
}

// inspect checks that the memory is as large as it should be, and stays so.
func inspect(fd int) error {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return err
	}
	if s.Size != total || got&seals != seals {
		return fmt.Errorf("%d bytes with seals %#x were handed over", s.Size, got)
	}
	return nil
}

// open maps the memory. The two sides have the lanes and bells the other way round.
func open(conn *net.UnixConn, fds []int, taker bool) (*Pipe, error) {
	mem, err := unix.Mmap(fds[0], 0, total, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		closeAll(fds)
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	closeAll(fds[:1]) // the mapping stays
	var bell [bells]*os.File
	for i, fd := range fds[1:] {
		bell[i] = os.NewFile(uintptr(fd), "bell")
	}
	p := &Pipe{conn: conn, mem: mem, came: bell[0], room: bell[1], theirs: bell[2], theirRoom: bell[3]}
	p.in.lane, p.out.lane = laneAt(mem, 0), laneAt(mem, control+capacity)
	if taker {
		p.in.lane, p.out.lane = p.out.lane, p.in.lane
		p.came, p.room, p.theirs, p.theirRoom = p.theirs, p.theirRoom, p.came, p.room
	}
	p.watcher.Go(p.watch)
	return p, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // nothing was written to it
	}
}

// watch waits for the connection's end, which is the other side's.
func (p *Pipe) watch() {
	var none [1]byte
	_, _ = p.conn.Read(none[:]) // whatever it is, nothing should come
	p.leave()
}

// leave wakes the goroutines that wait for the other side.
func (p *Pipe) leave() {
	p.gone.Store(true)
	ring(p.came)
	ring(p.room)
}

var one = []byte{1, 0, 0, 0, 0, 0, 0, 0}

// ring signals an eventfd, which wakes the side that waits on it. A closed one is ignored.
func ring(f *os.File) { _, _ = f.Write(one) }

// sleep waits for a bell.
func sleep(f *os.File) error {
	var count [8]byte
	_, err := f.Read(count[:])
	return err
}

// Read reads what there is, waiting while there is nothing. It ends with io.EOF when
// all was read that the other side wrote before it went.
func (p *Pipe) Read(b []byte) (int, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	for last := false; p.mem != nil; {
		n, wake, err := p.in.get(b)
		if wake {
			ring(p.theirRoom)
		}
		switch {
		case n > 0 || err != nil:
			return n, err
		case last || len(b) == 0:
			return 0, io.EOF
		case p.gone.Load():
			last = true // and look once more
			continue
		}
		if err := p.await(); err != nil {
			return 0, err
		}
	}
	return 0, io.ErrClosedPipe
}

// await sleeps until something came. That is announced before the last look, so no bell
// is missed.
func (p *Pipe) await() error {
	p.in.idle.Store(1)
	n, err := p.in.there()
	if n == 0 && err == nil && !p.gone.Load() {
		err = sleep(p.came)
	}
	p.in.idle.Store(0)
	return err
}

// Write writes all of b, waiting for room. The other side may not hear of it before
// Flush.
func (p *Pipe) Write(b []byte) (done int, err error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	for done < len(b) {
		if p.mem == nil || p.gone.Load() {
			return done, io.ErrClosedPipe
		}
		n, err := p.out.put(b[done:])
		if err != nil {
			return done, err
		}
		if done += n; done == len(b) {
			break
		}
		p.tell()
		if n == 0 {
			if err := p.makeRoom(); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// makeRoom sleeps until half of the room is free, unless some is by now.
func (p *Pipe) makeRoom() error {
	p.out.full.Store(1)
	n, err := p.out.room()
	if n == 0 && err == nil && !p.gone.Load() {
		err = sleep(p.room)
	}
	p.out.full.Store(0)
	return err
}

func (p *Pipe) tell() {
	if p.out.tell() {
		ring(p.theirs)
	}
}

// Flush lets the other side know of all that was written.
func (p *Pipe) Flush() error {
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.mem == nil || p.gone.Load() {
		return io.ErrClosedPipe
	}
	p.tell()
	return nil
}

// Busy lets the other side know whether this process computes.
func (p *Pipe) Busy(yes bool) {
	p.using.RLock()
	defer p.using.RUnlock()
	if p.mem == nil {
		return
	}
	word := uint32(0)
	if yes {
		word = 1
	}
	p.out.busy.Store(word)
}

// Rouse takes the other side's process for busy from now on, until it says otherwise: it
// is about to be given work, and can say so only when it has a core for it.
func (p *Pipe) Rouse() {
	p.using.RLock()
	defer p.using.RUnlock()
	if p.mem != nil {
		p.in.busy.Store(1)
	}
}

// OtherBusy reports whether the other side's process computes, as far as it says.
func (p *Pipe) OtherBusy() bool {
	p.using.RLock()
	defer p.using.RUnlock()
	return p.mem != nil && !p.gone.Load() && p.in.busy.Load() == 1
}

// Close ends the pipe for both sides, and blocks until no goroutine of this process uses it.
func (p *Pipe) Close() (err error) {
	p.closing.Do(func() {
		p.leave()
		err = p.conn.Close()
		p.watcher.Wait()
		p.reading.Lock()
		defer p.reading.Unlock()
		p.writing.Lock()
		defer p.writing.Unlock()
		p.using.Lock()
		defer p.using.Unlock()
		err = errors.Join(err, unix.Munmap(p.mem))
		p.mem, p.in, p.out = nil, reader{}, writer{}
		for _, f := range []*os.File{p.came, p.room, p.theirs, p.theirRoom} {
			_ = f.Close() // nothing is kept there
		}
	})
	return err
}
