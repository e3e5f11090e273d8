package ring

import (
	"math/rand/v2"
	"testing"
)

// lanes returns a writer and a reader of one lane.
func lanes() (*writer, *reader) {
	mem := make([]byte, total)
	l := laneAt(mem, 0)
	return &writer{lane: l}, &reader{lane: l}
}

// TestLane: whatever is put comes out, in pieces of any size, around the end and with a
// full ring.
func TestLane(t *testing.T) {
	w, r := lanes()
	rng := rand.New(rand.NewPCG(1, 2))
	var wrote, read byte
	buffer := make([]byte, 3*part)
	for range 2000 {
		b := buffer[:rng.IntN(len(buffer))]
		for i := range b {
			b[i] = wrote + byte(i)
		}
		n, err := w.put(b)
		if err != nil {
			t.Fatal(err)
		}
		wrote += byte(n)
		w.tell()
		b = buffer[:rng.IntN(len(buffer))]
		n, _, err = r.get(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range b[:n] {
			if x != read {
				t.Fatalf("%d came for %d", x, read)
			}
			read++
		}
	}
}

// TestWake: a sleeper is woken once, a writer only when half of the room is free.
func TestWake(t *testing.T) {
	w, r := lanes()
	r.idle.Store(1)
	if w.tell() {
		t.Error("nothing was written, and the reader was woken")
	}
	for free := capacity; free > 0; {
		n, err := w.put(make([]byte, part))
		if err != nil {
			t.Fatal(err)
		}
		if woke := w.tell(); woke != (free == capacity) {
			t.Errorf("with %d bytes free the reader was woken: %v", free, woke)
		}
		free -= n
	}
	w.full.Store(1)
	for there, woken := capacity, false; there > 0; there -= part {
		_, wake, err := r.get(make([]byte, part))
		if err != nil {
			t.Fatal(err)
		}
		if wake != (!woken && there-part <= capacity/2) {
			t.Errorf("with %d bytes left the writer was woken: %v", there-part, wake)
		}
		woken = woken || wake
	}
}

// TestPositions: positions that cannot be are errors, and nothing is read or written by
// them.
func TestPositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		w, r := lanes()
		w.at, w.told, w.seen = capacity, capacity, 0 // full, as far as it knows
		bad := uint64(capacity) + 1 + rng.Uint64N(1<<63)
		r.head.Store(bad)
		w.tail.Store(bad)
		for range 2 { // who asks again is not told otherwise
			if _, _, err := r.get(make([]byte, 10)); err != ErrBroken {
				t.Fatalf("head %d: %v", bad, err)
			}
			if _, err := w.put(make([]byte, 10)); err != ErrBroken {
				t.Fatalf("tail %d: %v", bad, err)
			}
		}
	}
}

// FuzzLane: whatever another process writes into the memory, and whenever, a reader gets
// no more than there can be, a writer overwrites nothing that it does not know to be
// read, and neither panics. Every four bytes are a deed: what is done, and how much.
func FuzzLane(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0})
	f.Add([]byte{3, 255, 255, 255, 2, 1, 0, 0, 2, 1, 0, 0})
	f.Add([]byte{0, 255, 255, 255, 1, 0, 0, 0, 4, 1, 0, 16, 0, 1, 0, 0, 0, 1, 0, 0})
	f.Add([]byte{5, 1, 0, 0, 0, 9, 0, 0, 1, 0, 0, 0, 6, 1, 0, 0, 2, 9, 9, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		w, r := lanes()
		buffer := make([]byte, 2*part)
		for ; len(b) >= 4; b = b[4:] {
			amount := uint64(b[1]) | uint64(b[2])<<8 | uint64(b[3])<<16
			before, free, come := r.at, capacity-(w.at-w.seen), r.seen-r.at
			if free > capacity || come > capacity {
				t.Fatalf("%d bytes of room, %d to read", free, come)
			}
			switch b[0] % 8 {
			case 0:
				n, err := w.put(buffer[:amount%uint64(len(buffer))])
				if n < 0 || n > part || err != nil && n != 0 || w.at-w.seen > capacity {
					t.Fatalf("%d bytes were written: %v", n, err)
				}
			case 1:
				w.tell()
			case 2:
				n, _, err := r.get(buffer[:amount%uint64(len(buffer))])
				if n < 0 || r.at-before != uint64(n) || err != nil && n != 0 || r.seen-r.at > capacity {
					t.Fatalf("%d bytes were read: %v", n, err)
				}
			case 3: // what follows is the other process's doing
				w.head.Store(w.head.Load() - amount)
			case 4:
				w.tail.Store(w.tail.Load() + amount)
			case 5:
				w.tail.Store(amount << 40)
			case 6:
				w.head.Store(^amount)
			case 7:
				w.idle.Store(uint32(amount))
				w.full.Store(uint32(amount))
				copy(w.data[amount%capacity:], b)
			}
		}
	})
}
