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
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// CheckVideo returns an error if a file's name does not end in .gif or .mp4, which are the formats
// that Video writes, or if it ends in .mp4 and there is no ffmpeg.
func CheckVideo(file string) error {
	ext := filepath.Ext(file)
	gif := strings.TrimSuffix(file, ext) + ".gif"
	switch {
	case strings.EqualFold(ext, ".gif"):
		return nil
	case !strings.EqualFold(ext, ".mp4"):
		return fmt.Errorf("a video is written as a GIF or an MP4: name a file that ends in .gif or .mp4, such as %s", gif)
	}
	if _, err := exec.LookPath(ffmpeg); err != nil {
		return fmt.Errorf("an MP4 is made by ffmpeg, which is not on the PATH: install it, or name a GIF, such as %s", gif)
	}
	return nil
}

// Video draws the first episode of the first environment as a GIF, or as an MP4 with the help of
// ffmpeg. It records once, however many environments it is put around one after another.
func Video(file string) Wrapper {
	once := new(bool)
	return Wrapper{text: "video=" + file, draws: true, watch: func(_ *rl.Scope, g env.Groups, at place) (env.Groups, error) {
		if err := CheckVideo(file); err != nil {
			return nil, err
		}
		v := &video{Groups: g, at: at, path: in(at.dir, file, env.Spec{}), done: once}
		if g.Spec()[0].First > 0 {
			v.done = new(bool) // another replica has the first environment
			return v, nil
		}
		if *once {
			return v, nil
		}
		err := env.ErrNoPicture
		if r, ok := env.Find[env.Renderer](g); ok {
			v.from = r
			v.rate, err = r.Film(0, v.add)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.Spec()[0].ID, err)
		}
		return v, nil
	}}
}

// The most pictures of a video, and their bytes: memory has an end, episodes may
// not.
const (
	maxFrames = 5000
	maxBytes  = 1 << 28
)

// video draws environment 0 until its episode is over.
type video struct {
	env.Groups
	from env.Renderer // nil: nothing is drawn
	rate float64
	at   place
	path string
	film gif.GIF
	done *bool
}

func (v *video) Unwrap() any { return v.Groups }

func (v *video) Step(action []rl.Tree) []rl.Step {
	out := v.Groups.Step(action)
	if v.from != nil && !*v.done && (rl.Read[bool](out[0].Over)[0] || v.full()) {
		if err := v.finish(); err != nil {
			rl.Failf("video: %w", err)
		}
	}
	return out
}

func (v *video) full() bool {
	n := len(v.film.Image)
	return n >= maxFrames || n > 0 && n*len(v.film.Image[0].Pix) >= maxBytes
}

// add takes a picture.
func (v *video) add(x image.Image) {
	if *v.done {
		return
	}
	p, ok := x.(*image.Paletted)
	if !ok {
		p = websafe(x)
	}
	v.film.Image = append(v.film.Image, p)
	v.film.Delay = append(v.film.Delay, max(2, int(math.Round(100/v.rate)))) // browsers slow down what is faster
}

// websafe returns a picture in six levels each of red, green and blue, in the order of
// the palette: to look for the nearest colour would take a hundred times as long.
func websafe(x image.Image) *image.Paletted {
	full, ok := x.(*image.RGBA)
	if !ok {
		full = image.NewRGBA(x.Bounds())
		draw.Draw(full, full.Rect, x, full.Rect.Min, draw.Src)
	}
	p := image.NewPaletted(full.Rect, palette.WebSafe)
	level := func(v uint8) int { return (int(v) + 25) / 51 }
	for y := range full.Rect.Dy() {
		from, to := full.Pix[y*full.Stride:], p.Pix[y*p.Stride:]
		for x := range full.Rect.Dx() {
			to[x] = uint8(36*level(from[4*x]) + 6*level(from[4*x+1]) + level(from[4*x+2]))
		}
	}
	return p
}

// finish writes what was drawn; the last picture stays for a second.
func (v *video) finish() error {
	*v.done = true
	_, filming := v.from.Film(0, nil)
	v.film.Delay[len(v.film.Delay)-1] = 100
	f, err := v.at.open(v.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	encode := gif.EncodeAll
	if strings.EqualFold(filepath.Ext(v.path), ".mp4") {
		encode = encodeMP4
	}
	err = errors.Join(encode(f, &v.film), f.Close(), filming)
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

// Load restores what Save saved.
func (v *video) Load(s *rl.State) error {
	if err := v.Groups.Load(s.At("inner")); err != nil {
		return err
	}
	if done := rl.GetSliceN[bool](s, "done", 1); s.Err() == nil {
		*v.done, v.film = done[0], gif.GIF{} // with the picture of an episode that is no more
	}
	return s.Err()
}
