package wrap_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"image"
	"image/color/palette"
	"image/gif"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

func openIn(t *testing.T, s *rl.Scope, e env.Entry, n int, list, dir string) env.Groups {
	t.Helper()
	g, err := env.OpenGroups(s, wrap.Entry(e, parse(t, list), dir), n, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func episodes(t *testing.T, path string) (out []wrap.Episode) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e wrap.Episode
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

// Episodes are written as they were, whatever stands outside.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	s := newScope(t)
	g := openIn(t, s, debug.Kinds, 2, "normalize-obs,normalize-reward,record=e.jsonl", dir)
	for i := range 2*debug.Length + 3 {
		g.Step(act(s, g, i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got, want := episodes(t, filepath.Join(dir, "e.jsonl")), rl.System.TakeEpisodes(s.Episodes())
	if len(got) != 4 || len(want) != 4 {
		t.Fatalf("%d episodes recorded, %d counted", len(got), len(want))
	}
	for i, e := range got {
		symbol, number := e.Agents[0], e.Agents[1]
		if e.Env != want[i].Env || e.Length != debug.Length || symbol.Return != want[i].Kinds[0] || number.Return != want[i].Kinds[1] {
			t.Errorf("episode %d of environment %d: length %d, returns %v and %v; counted %+v",
				i, e.Env, e.Length, symbol.Return, number.Return, want[i])
		}
		if len(symbol.Obs) != e.Length+1 || len(symbol.Obs[0][""]) != 12 || len(symbol.Action) != e.Length || len(symbol.Reward[0]) != 3 {
			t.Errorf("sizes %d %d %d", len(symbol.Obs), len(symbol.Action), len(symbol.Reward))
		}
		if symbol.Kind != "symbol" || !number.Truncated[0] || number.Terminated[0] {
			t.Errorf("kind %q, truncated %v, terminated %v", symbol.Kind, number.Truncated, number.Terminated)
		}
	}
}

// A run that goes on from a checkpoint writes the file that one without a break
// would have.
func TestRecordResumes(t *testing.T) {
	whole, broken := t.TempDir(), t.TempDir()
	run := func(s *rl.Scope, g env.Groups, from, to int) {
		for i := from; i < to; i++ {
			g.Step(act(s, g, i))
		}
	}
	s := newScope(t)
	run(s, openIn(t, s, debug.Host, 3, "record", whole), 0, 90)
	u := newScope(t)
	g := openIn(t, u, debug.Host, 3, "record", broken)
	run(u, g, 0, 40)
	state := rl.NewState(u)
	u.Save(state)
	run(u, g, 40, 70) // lost
	again := newScope(t)
	g = openIn(t, again, debug.Host, 3, "record", broken)
	if err := again.Load(state); err != nil {
		t.Fatal(err)
	}
	run(again, g, 40, 90)
	for _, s := range []*rl.Scope{s, u, again} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	a, err := os.ReadFile(filepath.Join(whole, "episodes.jsonl"))
	if err != nil || len(a) == 0 {
		t.Fatal(len(a), err)
	}
	if b, err := os.ReadFile(filepath.Join(broken, "episodes.jsonl")); err != nil || !bytes.Equal(a, b) {
		t.Errorf("%d bytes, want %d: %v", len(b), len(a), err)
	}
}

// Replicas write files of their own.
func TestRecordShard(t *testing.T) {
	dir := t.TempDir()
	s := newScope(t).Shard(1, 2)
	g := openIn(t, s, debug.Identity, 4, "record", dir)
	for i := range debug.Length {
		g.Step(act(s, g, i))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := episodes(t, filepath.Join(dir, "episodes.2.jsonl")); len(got) != 2 || got[0].Env != 2 {
		t.Errorf("%v", got)
	}
}

// A video plays: pictures that differ, at the environment's own rate.
func TestVideo(t *testing.T) {
	for _, x := range []struct {
		entry        env.Entry
		list         string
		frames, rate int
	}{
		{classic.Pendulum, "video=v.gif,time-limit=12", 12, 5},
		{classic.CartPole, "video=v.gif,frame-stack=2,time-limit=6", 6, 2},
		{classic.Acrobot, "video=v.gif,time-limit=7", 7, 7},
		{classic.MountainCar, "video=v.gif,time-limit=8", 8, 3},
		{classic.MountainCarContinuous, "video=v.gif,time-limit=8", 8, 3},
		{mpe.SimpleSpread, "video=v.gif", 25, 10},
		{mpe.SimpleTag, "video=v.gif,time-limit=9", 9, 10},
	} {
		t.Run(x.entry.ID, func(t *testing.T) {
			dir := t.TempDir()
			s := newScope(t)
			g := openIn(t, s, x.entry, 2, x.list, dir)
			for i := range x.frames + 3 {
				g.Step(act(s, g, i))
			}
			film := decode(t, filepath.Join(dir, "v.gif"))
			x.frames++ // the first observation
			if len(film.Image) != x.frames || film.Delay[0] != x.rate || film.Delay[x.frames-1] != 100 {
				t.Errorf("%d pictures with delays %v", len(film.Image), film.Delay)
			}
			first, last := film.Image[0], film.Image[x.frames-1]
			painted := 0
			for _, p := range first.Pix {
				if p != 0 {
					painted++
				}
			}
			if bytes.Equal(first.Pix, last.Pix) || painted < 100 || painted > len(first.Pix)/2 {
				t.Errorf("nothing moves, or %d of %d pixels are painted", painted, len(first.Pix))
			}
		})
	}
}

// clock is a host environment that shows how often it was stepped, as a colour.
type clock struct{ at uint8 }

func (c *clock) Reset(rl.Key, env.Row) { c.at = 0 }

func (c *clock) Step(rl.Key, env.Row, env.Row) (reward float64, terminated, truncated bool) {
	c.at++
	return 0, c.at == 3, false
}

func (c *clock) Draw(rl.Tree) image.Image {
	return &image.Paletted{Pix: []uint8{c.at}, Stride: 1, Rect: image.Rect(0, 0, 1, 1), Palette: palette.WebSafe}
}

func (c *clock) Rate() float64 { return 10 }

// A video goes from the first observation to the last, whatever comes then.
func TestVideoComplete(t *testing.T) {
	dir, s := t.TempDir(), newScope(t)
	clocks := env.Entry{ID: "clock", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		spec := env.Spec{ID: "clock", Obs: rl.Box{}, Action: rl.Discrete{N: 2}}
		return env.Hosts(s, n, spec, func(int) (env.Host, error) { return &clock{}, nil })
	}}
	g := openIn(t, s, clocks, 2, "video", dir)
	for i := range 4 {
		g.Step(act(s, g, i))
	}
	var got []uint8
	for _, x := range decode(t, filepath.Join(dir, "episode.gif")).Image {
		got = append(got, x.Pix[0])
	}
	if !slices.Equal(got, []uint8{0, 1, 2, 3}) {
		t.Errorf("pictures %v", got)
	}
}

func decode(t *testing.T, path string) *gif.GIF {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	film, err := gif.DecodeAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return film
}

// TestMP4: ffmpeg is given the film and writes the file; without it, a sentence says what to do.
func TestMP4(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin)
	if err := wrap.CheckVideo("film.mp4"); err == nil || !strings.Contains(err.Error(), "ffmpeg, which is not on the PATH: install it, or name a GIF, such as film.gif") {
		t.Error(err)
	}
	program := filepath.Join(bin, "ffmpeg")
	film := func(script string) error {
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		s := newScope(t)
		g, err := env.OpenGroups(s, wrap.Entry(classic.Pendulum, parse(t, "video=film.mp4,time-limit=5"), dir), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			g.Step(act(s, g, i))
		}
		return s.Close() // which writes the episode that it breaks off
	}
	if err := film("exec /bin/cat"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "film.mp4"))
	if frame := 150 * 150 * 3; err != nil || len(got) != (2+20)*frame || got[0] != 255 || !slices.Contains(got, 0) { // the last one for a second
		t.Errorf("ffmpeg was given %d bytes, error %v", len(got), err)
	}
	if err := film("echo no encoder >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "ffmpeg: exit status 3: no encoder") {
		t.Error(err)
	}
}

// One list records one video; an episode that is broken off is written as well.
func TestVideoOnce(t *testing.T) {
	dir := t.TempDir()
	list := parse(t, "video")
	for i, steps := range []int{3, 9} {
		s := newScope(t)
		g, err := env.OpenGroups(s, wrap.Entry(classic.Pendulum, list, dir), 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			g.Step(act(s, g, i))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if film := decode(t, filepath.Join(dir, "episode.gif")); len(film.Image) != 4 {
			t.Errorf("run %d: %d pictures", i, len(film.Image))
		}
	}
}
