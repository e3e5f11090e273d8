package copies

import (
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/compute"
)

// buf is a buffer of which only its identity matters.
type buf struct {
	compute.Buffer
	n int
}

// TestOn: of all goroutines that bring a value to a device at once one's copy stays, and the
// others' are handed back.
func TestOn(t *testing.T) {
	var s Set[string]
	s.Keep([]float32{1})
	var mu sync.Mutex
	made, spare := 0, 0
	var got []compute.Buffer
	var all sync.WaitGroup
	begun := make(chan struct{})
	for range 8 {
		all.Go(func() {
			b, extra := s.On("gpu", func() compute.Buffer {
				mu.Lock()
				made++
				if made == 2 {
					close(begun)
				}
				n := made
				mu.Unlock()
				<-begun // so that two bring it there at least
				return &buf{n: n}
			})
			mu.Lock()
			defer mu.Unlock()
			got = append(got, b)
			if extra != nil {
				spare++
			}
		})
	}
	all.Wait()
	if slices.ContainsFunc(got, func(b compute.Buffer) bool { return b != got[0] }) || spare != made-1 {
		t.Errorf("%d copies were made, %d handed back; %v", made, spare, got)
	}
	if flat, _ := s.Host(); flat == nil {
		t.Error("the copy in Go's memory was forgotten")
	}
	other, _ := s.On("cpu", func() compute.Buffer { return &buf{n: 100} })
	if out := s.Clear(); len(out) != 2 || !slices.Contains(out, other) || !slices.Contains(out, got[0]) {
		t.Errorf("cleared %v", out)
	}
	if flat, coming := s.Host(); flat != nil || coming != nil {
		t.Error("something is left")
	}
}

// TestExpect: a copy is begun once, and waited for once by all that ask.
func TestExpect(t *testing.T) {
	var s Set[string]
	begun, waited := 0, 0
	begin := func() func(any) error {
		begun++
		return func(flat any) error {
			waited++
			flat.([]int)[0] = 7
			return nil
		}
	}
	s.Expect(func() func(any) error { return nil })
	if _, coming := s.Host(); coming != nil {
		t.Fatal("a copy is coming that was not begun")
	}
	s.Expect(begin)
	s.Expect(begin)
	_, coming := s.Host()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			flat, err := coming.Get(func() any { return make([]int, 1) })
			if err != nil || flat.([]int)[0] != 7 {
				t.Error(flat, err)
			}
		})
	}
	all.Wait()
	if begun != 1 || waited != 1 {
		t.Errorf("begun %d times, waited for %d times", begun, waited)
	}
	s.Keep([]int{7})
	s.Expect(begin)
	if flat, coming := s.Host(); flat == nil || coming != nil || begun != 1 {
		t.Error("what is there is brought again")
	}
}
