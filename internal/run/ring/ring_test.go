package ring

import (
	"math/rand/v2"
	"testing"
)

// lanes is a writer and a reader of one lane.
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
		if _, _, err := r.get(make([]byte, 10)); err != ErrBroken {
			t.Fatalf("head %d: %v", bad, err)
		}
		w.tail.Store(bad)
		if _, err := w.put(make([]byte, 10)); err != ErrBroken {
			t.Fatalf("tail %d: %v", bad, err)
		}
	}
}
