package mujoco

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

// TestFilm: an episode is a GIF with a picture of its first state and of every
// step, in which something moves.
func TestFilm(t *testing.T) {
	needLibrary(t)
	for _, e := range []env.Entry{HalfCheetah, Ant} {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			dir, s := t.TempDir(), newScope(t, 1)
			b, err := env.Open(s, wrap.Entry(e, wrap.List{wrap.TimeLimit(6), wrap.Video("film.gif")}, dir), 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 8 {
				b.Step(env.Sample(s, b.Spec(), b.Obs(), rl.NewKey(uint64(i))))
			}
			if err := env.Close(b); err != nil {
				t.Error(err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "film.gif"))
			if err != nil {
				t.Fatal(err)
			}
			film, err := gif.DecodeAll(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if len(film.Image) != 7 || film.Config.Width != filmWidth || film.Config.Height != filmHeight || film.Delay[0] != 5 {
				t.Errorf("%d pictures of %dx%d, every %d hundredths of a second", len(film.Image), film.Config.Width, film.Config.Height, film.Delay[0])
			}
			for i, x := range film.Image[1:] {
				if bytes.Equal(x.Pix, film.Image[i].Pix) {
					t.Errorf("pictures %d and %d are the same", i, i+1)
				}
			}
		})
	}
}

// TestPicture: it shows the state of the environment that is asked for, at every
// task, and nothing else.
func TestPicture(t *testing.T) {
	needLibrary(t)
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			var shots []*image.Paletted
			take := func(x image.Image) { shots = append(shots, x.(*image.Paletted)) }
			b := makeOf(t, newScope(t, 1), e, 2, nil)
			if rate, err := b.Film(1, take); err != nil || rate != 1/b.rows[0].dt {
				t.Fatalf("%v pictures a second, %v", rate, err)
			}
			b.Obs()
			b.shoot()
			b.rows[0].qpos[0] += 1 // the other environment is not seen
			b.shoot()
			b.rows[1].qpos[len(b.rows[1].qpos)-1] += .3
			b.shoot()
			b.rows[1].qpos[len(b.rows[1].qpos)-1] -= .3
			b.shoot()
			var same []bool
			for _, x := range shots {
				same = append(same, bytes.Equal(x.Pix, shots[0].Pix))
			}
			if got := fmt.Sprint(same); got != "[true true true false true]" {
				t.Errorf("like the first picture: %s", got)
			}
			if _, err := b.Film(1, nil); err != nil || b.film != nil {
				t.Errorf("the film goes on: %v", err)
			}
		})
	}
}

// TestFilmChangesNothing: who is filmed does what it would have done.
func TestFilmChangesNothing(t *testing.T) {
	needLibrary(t)
	s, u := newScope(t, 4), newScope(t, 4)
	b, filmed := make1(t, s, "Ant-v5", 2), make1(t, u, "Ant-v5", 2)
	if _, err := filmed.Film(0, func(image.Image) {}); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(play(s, b, 5)) != fmt.Sprint(play(u, filmed, 5)) {
		t.Error("a film changes what is filmed")
	}
}
