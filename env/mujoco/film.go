package mujoco

import (
	"errors"
	"image"

	"github.com/weft-rl/weft/env/mujoco/internal/mj"
	"github.com/weft-rl/weft/env/sketch/solid"
)

// The pixels of a picture.
const (
	filmWidth  = 320
	filmHeight = 240
)

// camera is how a task is looked at.
type camera struct {
	solid.Camera
	still bool // does not follow the first body
}

// along looks from the side at what moves along x.
func along(height, distance float64) camera {
	return look(solid.Vec{2: height}, distance, 90, -10, false)
}

// aslant looks down at what moves anywhere.
func aslant(height, distance float64) camera {
	return look(solid.Vec{2: height}, distance, 120, -22, false)
}

// rail looks from the side at what stays where it is.
func rail(height, distance float64) camera {
	return look(solid.Vec{2: height}, distance, 90, -8, true)
}

// above looks straight down.
func above(at solid.Vec, distance float64, still bool) camera {
	return look(at, distance, 90, -90, still)
}

func look(at solid.Vec, distance, azimuth, elevation float64, still bool) camera {
	return camera{solid.Camera{At: at, Distance: distance, Azimuth: azimuth, Elevation: elevation}, still}
}

// film asks for pictures of one environment. It has a simulation of
// its own, which is put into the state that is to be seen: those that are stepped
// do nothing for it.
type film struct {
	row    int
	take   func(image.Image)
	sims   *mj.Sims
	state  []float64
	places []float64 // positions of geoms
	turns  []float64
	follow []float64 // places of bodies, of which the first is the world
	geoms  []mj.Geom
	bodies []solid.Body
	paint  *solid.Painter
}

// Film implements env.Renderer.
func (b *Batch) Film(i int, take func(image.Image)) (rate float64, err error) {
	rate = 1 / (b.sims.Timestep * float64(b.task.skip))
	if b.film != nil {
		err = b.film.sims.Close()
		b.film = nil
	}
	if take != nil && err == nil {
		b.film, err = newFilm(b.task, i, take)
	}
	return rate, err
}

func newFilm(t task, row int, take func(image.Image)) (*film, error) {
	sims, err := open(t, 1, 1)
	if err != nil {
		return nil, err
	}
	f := &film{
		row: row, take: take, sims: sims, state: sims.State(),
		places: sims.Output("geom_xpos"), turns: sims.Output("geom_xmat"), follow: sims.Output("xpos"),
	}
	if f.geoms, err = sims.Geoms(); err != nil {
		return nil, errors.Join(err, sims.Close())
	}
	var colours []solid.Vec
	for _, g := range f.geoms {
		body := bodyOf(g)
		f.bodies, colours = append(f.bodies, body), append(colours, body.Colour)
	}
	f.paint = solid.New(filmWidth, filmHeight, colours)
	return f, nil
}

// bodyOf returns a geom as something to draw, wherever it is. What has no simple form
// is drawn as the box around it.
func bodyOf(g mj.Geom) solid.Body {
	out := solid.Body{Size: g.Size, Colour: solid.Vec{float64(g.RGBA[0]), float64(g.RGBA[1]), float64(g.RGBA[2])}}
	switch g.Kind {
	case mj.Plane:
		out.Shape = solid.Plane
	case mj.Sphere:
		out.Shape, out.Size = solid.Ellipsoid, solid.Vec{g.Size[0], g.Size[0], g.Size[0]}
	case mj.Ellipsoid:
		out.Shape = solid.Ellipsoid
	case mj.Capsule:
		out.Shape = solid.Capsule
	case mj.Cylinder:
		out.Shape = solid.Cylinder
	default:
		out.Shape = solid.Box
	}
	return out
}

// shoot takes a picture, if that is asked for.
func (b *Batch) shoot() {
	f := b.film
	if f == nil {
		return
	}
	width := len(f.state)
	copy(f.state, b.state[f.row*width:(f.row+1)*width])
	b.must(f.sims.Forward(nil))
	f.take(f.picture(b.task.camera))
}

// picture draws the simulation as it stands.
func (f *film) picture(c camera) image.Image {
	for i, g := range f.geoms {
		body := &f.bodies[i]
		copy(body.At[:], f.places[3*g.Index:])
		copy(body.Turn[:], f.turns[9*g.Index:])
	}
	if !c.still && len(f.follow) > 3 {
		c.At[0], c.At[1] = c.At[0]+f.follow[3], c.At[1]+f.follow[4]
	}
	return f.paint.Draw(c.Camera, f.bodies)
}
