package solid

import (
	"bytes"
	"fmt"
	"math"
	"testing"
)

func Example() {
	ball := Body{Shape: Ellipsoid, Size: Vec{.5, .5, .5}, At: Vec{0, 0, .5}, Turn: Upright, Colour: Vec{.8, .2, .2}}
	floor := Body{Shape: Plane, Turn: Upright, Colour: Vec{.8, .9, .8}}
	p := New(160, 120, []Vec{ball.Colour, floor.Colour})
	picture := p.Draw(Camera{At: ball.At, Distance: 4, Azimuth: 90, Elevation: -20}, []Body{floor, ball})
	r, g, _, _ := picture.At(80, 60).RGBA()
	fmt.Println(picture.Bounds(), "red in the middle:", r > 2*g)
	// Output: (0,0)-(160,120) red in the middle: true
}

// A quarter turn about y: the body's z is x.
var lying = Turn{0, 0, 1, 0, 1, 0, -1, 0, 0}

// Rays meet bodies where they are, and their normals point outwards.
func TestHit(t *testing.T) {
	down, along := Vec{2: -1}, Vec{1, 0, 0}
	for _, c := range []struct {
		name      string
		b         Body
		from, ray Vec
		far       float64
		normal    Vec
	}{
		{"plane", Body{Shape: Plane, Turn: Upright}, Vec{5, 5, 3}, down, 3, Vec{2: 1}},
		{"plane from below", Body{Shape: Plane, Turn: Upright}, Vec{0, 0, -3}, Vec{2: 1}, none, Vec{}},
		{"past a plane", Body{Shape: Plane, Size: Vec{1, 1}, Turn: Upright}, Vec{2, 0, 3}, down, none, Vec{}},
		{"ellipsoid", Body{Shape: Ellipsoid, Size: Vec{1, 2, 3}, Turn: Upright}, Vec{0, 0, 10}, down, 7, Vec{2: 1}},
		{"turned ellipsoid", Body{Shape: Ellipsoid, Size: Vec{1, 2, 3}, Turn: lying}, Vec{-10, 0, 0}, along, 7, Vec{-1, 0, 0}},
		{"past an ellipsoid", Body{Shape: Ellipsoid, Size: Vec{1, 2, 3}, Turn: Upright}, Vec{0, 2.1, 10}, down, none, Vec{}},
		{"behind", Body{Shape: Ellipsoid, Size: Vec{1, 1, 1}, Turn: Upright}, Vec{2: -10}, down, none, Vec{}},
		{"capsule's side", Body{Shape: Capsule, Size: Vec{.5, 2}, At: Vec{3, 0, 0}, Turn: Upright}, Vec{0, 0, 1.9}, along, 2.5, Vec{-1, 0, 0}},
		{"capsule's end", Body{Shape: Capsule, Size: Vec{.5, 2}, Turn: Upright}, Vec{0, 0, 10}, down, 7.5, Vec{2: 1}},
		{"capsule's corner", Body{Shape: Capsule, Size: Vec{.5, 2}, Turn: Upright}, Vec{-9, 0, 2.4}, along, 8.7, Vec{-.6, 0, .8}},
		{"turned capsule", Body{Shape: Capsule, Size: Vec{.5, 2}, Turn: lying}, Vec{-10, 0, 0}, along, 7.5, Vec{-1, 0, 0}},
		{"cylinder's end", Body{Shape: Cylinder, Size: Vec{.5, 2}, Turn: Upright}, Vec{.3, 0, 10}, down, 8, Vec{2: 1}},
		{"past a cylinder", Body{Shape: Cylinder, Size: Vec{.5, 2}, Turn: Upright}, Vec{-9, 0, 2.1}, along, none, Vec{}},
		{"cylinder's side", Body{Shape: Cylinder, Size: Vec{.5, 2}, Turn: Upright}, Vec{-9, 0, 1.9}, along, 8.5, Vec{-1, 0, 0}},
		{"box", Body{Shape: Box, Size: Vec{1, 2, 3}, Turn: Upright}, Vec{.9, 1.9, 10}, down, 7, Vec{2: 1}},
		{"turned box", Body{Shape: Box, Size: Vec{1, 2, 3}, Turn: lying}, Vec{-10, 0, 0}, along, 7, Vec{-1, 0, 0}},
		{"past a box", Body{Shape: Box, Size: Vec{1, 2, 3}, Turn: Upright}, Vec{1.1, 0, 10}, down, none, Vec{}},
	} {
		far, normal := c.b.hit(c.from, c.ray)
		miss := normal.sub(c.normal)
		if far != c.far && math.Abs(far-c.far) > 1e-9 || miss.dot(miss) > 1e-18 {
			t.Errorf("%s: after %v, normal %v; want %v, %v", c.name, far, normal, c.far, c.normal)
		}
	}
}

// What is nearer hides what is behind it, in whatever order they come; the palette
// has a GIF's size, however many colours there are.
func TestDraw(t *testing.T) {
	red, blue := Vec{.9, .1, .1}, Vec{.1, .1, .9}
	colours := []Vec{red, blue}
	for i := range 300 {
		colours = append(colours, Vec{.5, .5, float64(i) / 300})
	}
	front := Body{Shape: Box, Size: Vec{.2, .2, .2}, At: Vec{0, -1, 0}, Turn: Upright, Colour: red}
	back := Body{Shape: Box, Size: Vec{.4, .2, .4}, Turn: Upright, Colour: blue}
	p, cam := New(60, 40, colours), Camera{Distance: 4, Azimuth: 90}
	one, other := p.Draw(cam, []Body{front, back}), p.Draw(cam, []Body{back, front})
	if len(one.Palette) > 256 || !bytes.Equal(one.Pix, other.Pix) {
		t.Errorf("%d colours; the order of bodies counts: %v", len(one.Palette), !bytes.Equal(one.Pix, other.Pix))
	}
	shown := func(x, y int) string {
		r, _, b, _ := one.At(x, y).RGBA()
		switch {
		case r > 2*b:
			return "red"
		case b > 2*r:
			return "blue"
		}
		return "sky"
	}
	if got := fmt.Sprint([]string{shown(30, 20), shown(25, 20), shown(5, 20)}); got != "[red blue sky]" {
		t.Errorf("from the middle to the left: %s", got)
	}
}

// A body throws a shadow on the floor, whose tiles differ.
func TestFloor(t *testing.T) {
	floor := Body{Shape: Plane, Turn: Upright, Colour: Vec{1, 1, 1}}
	ball := Body{Shape: Ellipsoid, Size: Vec{.3, .3, .3}, At: Vec{2: 1}, Turn: Upright}
	v := New(8, 8, nil).view(Camera{Distance: 4, Azimuth: 90, Elevation: -30}, []Body{floor, ball})
	under := ball.At.sub(v.sun.times(1 / v.sun[2]))
	for _, c := range []struct {
		at   Vec
		want int
	}{{under, 2}, {Vec{5.5, 5.5}, 0}, {Vec{5.5, 6.5}, 1}, {Vec{-.5, 6.5}, 1}, {Vec{-.5, 5.5}, 0}} {
		if _, got := v.floor(&floor, c.at, 1); got != c.want {
			t.Errorf("at %v it looks like %d, want %d", c.at, got, c.want)
		}
	}
}

// BenchmarkDraw measures a picture of a body of twelve rods.
func BenchmarkDraw(b *testing.B) {
	bodies := []Body{{Shape: Plane, Turn: Upright, Colour: Vec{.8, .9, .8}}}
	for i := range 12 {
		turn := float64(i) * math.Pi / 6
		bodies = append(bodies, Body{Shape: Capsule, Size: Vec{.08, .3}, At: Vec{math.Sin(turn), math.Cos(turn), .5}, Turn: lying, Colour: Vec{.8, .6, .4}})
	}
	p := New(320, 240, []Vec{bodies[0].Colour, bodies[1].Colour})
	for b.Loop() {
		p.Draw(Camera{Distance: 4, Azimuth: 120, Elevation: -22}, bodies)
	}
}
