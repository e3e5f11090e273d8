package gym

import (
	"errors"
	"fmt"
	"image"
)

// film asks for pictures of one environment.
type film struct {
	worker *worker // nil without a film
	row    int     // row of the worker
	take   func(image.Image)
}

// WithPictures implements env.Pictured.
func (o *Options) WithPictures() any { return new(o.drawn()) }

// WithPictures implements env.Pictured.
func (o *ZooOptions) WithPictures() any {
	out := *o
	out.Options = o.drawn()
	return &out
}

// WithPictures implements env.Pictured.
func (o *AtariOptions) WithPictures() any {
	out := *o
	out.Options = o.drawn()
	return &out
}

// drawn returns the options with the way in which Python's environments are told to
// return pictures, unless they are told another.
func (o Options) drawn() Options {
	if _, given := o.args["render_mode"]; !given {
		_ = setArg(&o.args, "render_mode", "rgb_array") // nothing is wrong with it
	}
	return o
}

// Film implements env.Renderer.
func (b *batch) Film(i int, take func(image.Image)) (rate float64, err error) {
	if b.rate == 0 {
		return 0, errors.New("it draws no pictures: its render_mode is not rgb_array")
	}
	w := b.worker(i)
	if take == nil {
		was := b.film
		b.film = film{}
		if was.worker == nil || !b.begun || b.closed || w.cmd == nil {
			return b.rate, nil
		}
		return b.rate, film{row: -1}.turn(w)
	}
	b.film = film{w, i - w.first, take}
	if b.begun {
		err = b.film.turn(w)
	}
	return b.rate, err
}

// turn points the camera of a worker, if it is the one.
func (f film) turn(w *worker) error {
	if w == nil || f.worker != w && f.row >= 0 {
		return nil
	}
	if err := w.send(map[string]any{"do": "film", "env": f.row}); err != nil {
		return err
	}
	return w.receive(&struct{}{})
}

// shoot takes the picture of the last step, before any reset.
func (b *batch) shoot() {
	if b.film.take == nil {
		return
	}
	x, err := b.film.worker.picture()
	if err != nil {
		b.fail(fmt.Errorf("a picture: %w", err))
	}
	b.film.take(x)
}

// picture returns what the worker drew last.
func (w *worker) picture() (image.Image, error) {
	if err := w.send(map[string]string{"do": "picture"}); err != nil {
		return nil, err
	}
	return w.drawn()
}

// drawn returns the picture that a worker answers with.
func (w *worker) drawn() (image.Image, error) {
	var reply struct {
		Shape []int `json:"shape"`
	}
	if err := w.receive(&reply); err != nil {
		return nil, err
	}
	if len(reply.Shape) < 2 || min(reply.Shape[0], reply.Shape[1]) < 1 || max(reply.Shape[0], reply.Shape[1]) > maxSide {
		return nil, w.senseless(fmt.Sprintf("a picture of shape %v, where height and width are at most %d", reply.Shape, maxSide))
	}
	height, width := reply.Shape[0], reply.Shape[1]
	data, err := w.bytes(3 * height * width)
	if err != nil {
		return nil, err
	}
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range height * width {
		copy(out.Pix[4*i:], data[3*i:3*i+3])
		out.Pix[4*i+3] = 255
	}
	return out, nil
}
