package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// counted is environments that count.
type counted struct{ steps, closed *int }

func (c counted) Step() error  { *c.steps++; return nil }
func (c counted) Close() error { *c.closed++; return nil }

// Weft takes part in a case with what its binary has of it.
func TestEnvContenders(t *testing.T) {
	var steps, closed int
	o := Options{Only: []string{"weft"}, Env: func(id string, n int) (Stepper, error) {
		if !strings.HasPrefix(id, "gym:") {
			return nil, fmt.Errorf("%s: %w", id, ErrNoEnv)
		}
		return counted{&steps, &closed}, nil
	}}
	f, err := envContenders(t.Context(), o)
	if err != nil || len(f.present) != 2 {
		t.Fatalf("%d contenders, %v", len(f.present), err)
	}
	for i, want := range []error{errNoPart, nil} {
		if _, err := f.present[i].Prepare(context.Background(), envCase(everywhere("X-v0"))); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", f.present[i].Label().Path, err, want)
		}
		f.present[i].Release()
	}
	if steps != 1 || closed != 1 {
		t.Errorf("%d steps, closed %d times", steps, closed)
	}
}

// A peer hears the name that it has for a case's environments.
func TestEnvSpecBy(t *testing.T) {
	e := EnvSpec{Envs: 3, Gymnasium: "X-v0"}
	if x, ok := e.by("gymnasium", "async"); !ok || x.(EnvSpec).ID != "X-v0" || x.(EnvSpec).Way != "async" {
		t.Errorf("%+v, %v", x, ok)
	}
	if _, ok := e.by("envpool", "sync"); ok {
		t.Error("a peer without a name for it has a part")
	}
}
