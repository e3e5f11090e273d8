package cli_test

import (
	"errors"
	"image/gif"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/env"
)

// TestFilms: weft eval --video films every built-in environment. The film has a picture of the
// first observation and of every step, in more than one colour, and things move in it.
func TestFilms(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, e := range weft.Builtin().Environments {
		t.Run(e.ID, func(t *testing.T) {
			if o := run(t.Context(), weft.Builtin(), "list", "envs", e.ID); e.Needs != "" && o.code != 0 {
				t.Skipf("it needs %s: %s", e.Needs, o.errors)
			}
			name := strings.ReplaceAll(e.ID, "/", "-")
			algorithm := "ppo"
			if e.Kind == env.Teams {
				algorithm = "mappo"
			}
			do(t, 0, "train", algorithm, "--env", e.ID, "--steps", "64", "--eval-episodes", "0", "--wrap", "time-limit=7", "--set", "envs=4", "--set", "horizon=4", "--set", "hidden=4", "--set", "minibatches=2", "--out", name)
			do(t, 0, "eval", name, "--episodes", "1", "--video", name+".gif")
			f, err := os.Open(name + ".gif")
			if err != nil {
				t.Fatal(err)
			}
			film, err := gif.DecodeAll(f)
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			colours, moved := map[uint8]bool{}, false
			for _, p := range film.Image {
				for _, x := range p.Pix {
					colours[x] = true
				}
				moved = moved || !reflect.DeepEqual(p.Pix, film.Image[0].Pix)
			}
			if len(film.Image) < 2 || len(colours) < 2 || !moved {
				t.Errorf("%d pictures of %d colours, moving %v", len(film.Image), len(colours), moved)
			}
		})
	}
}
