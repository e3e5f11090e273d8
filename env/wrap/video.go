package wrap

import (
	"errors"
	"fmt"
	"image"
	"image/color/palette"
	"image/draw"
	"image/gif"
	"math"
	"os"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Video draws the first episode of the first environment as a GIF. It records once,
// however many environments it is put around one after another.
func Video(file string) Wrapper {
	once := new(bool)
	return Wrapper{text: "video=" + file, watch: func(_ *rl.Scope, g env.Groups, dir string) (env.Groups, error) {
		if g.Spec()[0].First > 0 || *once {
			return g, nil
		}
		r, ok := env.Find[env.Renderer](g)
		if !ok || r.Rate() == 0 {
			return nil, fmt.Errorf("%s cannot be drawn", g.Spec()[0].ID)
		}
		return &video{Groups: g, from: r, path: in(dir, file, env.Spec{}), done: once}, nil
	}}
}

// maxFrames is the most pictures of a video: memory has an end, episodes may not.
const maxFrames = 5000

// video draws environment 0 until its episode is over.
type video struct {
	env.Groups
	from  env.Renderer
	path  string
	film  gif.GIF
	begun bool
	done  *bool
}

func (v *video) Unwrap() any { return v.Groups }

func (v *video) Obs() []rl.Obs {
	obs := v.Groups.Obs()
	if !v.begun {
		v.begun = true
		v.draw()
	}
	return obs
}

func (v *video) Step(action []rl.Tree) []rl.Step {
	v.Obs()
	out := v.Groups.Step(action)
	switch over := rl.Read[bool](out[0].Over)[0]; {
	case *v.done:
	case over || len(v.film.Image) == maxFrames:
		if err := v.finish(); err != nil {
			rl.Failf("video: %w", err)
		}
	default:
		v.draw()
	}
	return out
}

// draw adds a picture.
func (v *video) draw() {
	x := v.from.Render(0)
	p, ok := x.(*image.Paletted)
	if !ok {
		p = image.NewPaletted(x.Bounds(), palette.WebSafe)
		draw.Draw(p, p.Rect, x, x.Bounds().Min, draw.Src)
	}
	v.film.Image = append(v.film.Image, p)
	v.film.Delay = append(v.film.Delay, max(2, int(math.Round(100/v.from.Rate())))) // browsers slow down what is faster
}

// finish writes what was drawn; the last picture stays for a second.
func (v *video) finish() error {
	*v.done = true
	v.film.Delay[len(v.film.Delay)-1] = 100
	f, err := os.Create(v.path)
	if err != nil {
		return err
	}
	err = errors.Join(gif.EncodeAll(f, &v.film), f.Close())
	v.film = gif.GIF{}
	return err
}

// Close writes an episode that was broken off, and closes the environments.
func (v *video) Close() error {
	var err error
	if !*v.done && len(v.film.Image) > 0 {
		err = v.finish()
	}
	return errors.Join(err, env.Close(v.Groups))
}

// Save puts the environments, and whether the video is made; one that is not goes
// on from there in a resumed run.
func (v *video) Save(s *rl.State) {
	v.Groups.Save(s.At("inner"))
	rl.PutSlice(s, "done", []bool{*v.done})
}

// Load takes them back.
func (v *video) Load(s *rl.State) error {
	if err := v.Groups.Load(s.At("inner")); err != nil {
		return err
	}
	if done := rl.GetSliceN[bool](s, "done", 1); s.Err() == nil {
		*v.done = done[0]
	}
	return s.Err()
}
