package worker

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestQuiet: a connection of which nothing is heard ends, and one that is heard of does not.
func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Time
		q := newQuiet(3*time.Second, func() { ended = time.Now() })
		defer q.stop()
		time.Sleep(2 * time.Second)
		for range 10 {
			q.heard(time.Second)
			time.Sleep(700 * time.Millisecond)
		}
		synctest.Wait() // for a look that is under way
		if !ended.IsZero() {
			t.Fatal("it ended though something was heard")
		}
		heard := time.Now()
		q.heard(time.Second)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if d := ended.Sub(heard); d < 750*time.Millisecond || d > time.Second {
			t.Errorf("it ended after %v", d)
		}
	})
}

// TestStoodStill: a process that stood still for however long finds one look due, and has not taken
// the coordinator for lost when it hears what has come meanwhile.
func TestStoodStill(t *testing.T) {
	ended := false
	q := newQuiet(time.Hour, func() { ended = true })
	defer q.stop()
	for range 3 {
		for range looks - 1 {
			q.look()
		}
		q.heard(time.Hour)
	}
	if ended {
		t.Error("it ended between two signs of life")
	}
	for range looks {
		q.look()
	}
	if !ended {
		t.Error("it does not end")
	}
}
