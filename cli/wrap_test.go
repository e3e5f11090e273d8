package cli_test

import (
	"image/gif"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wrappers are part of the run: they are recorded, resumed and evaluated with.
func TestWrap(t *testing.T) {
	t.Chdir(t.TempDir())
	const list = "time-limit=50,normalize-obs=10,frame-stack=2,record=episodes.jsonl"
	train := []string{"train", "ppo", "--env", "CartPole-v1", "--wrap", "time-limit=50,normalize-obs,frame-stack=2,record",
		"--set", "hidden=8", "--eval-episodes", "3", "--steps"}
	do(t, 0, append(train, "2048", "--out", "whole")...)
	do(t, 0, append(train, "1024", "--out", "broken")...)
	text, err := os.ReadFile("broken/config.yaml")
	if err != nil || !strings.Contains(string(text), list) {
		t.Fatalf("%v\n%s", err, text)
	}
	do(t, 0, "resume", "broken", "--steps", "2048")
	a, err := os.ReadFile("whole/episodes.jsonl")
	if err != nil || len(a) == 0 {
		t.Fatal(len(a), err)
	}
	b, err := os.ReadFile("broken/episodes.jsonl")
	if err != nil || strings.Count(string(a), "\n") < 10 || len(b) == 0 {
		t.Errorf("%d bytes and %d: %v", len(a), len(b), err)
	}

	before := len(a)
	got := do(t, 0, "eval", "whole", "--episodes", "4", "--video", "film.gif", "--record", "played.jsonl", "--json")
	if e := events(t, got.out); e[len(e)-1]["length_mean"].(float64) > 50 {
		t.Errorf("the time limit does not hold in evaluation: %v", e)
	}
	if a, _ = os.ReadFile("whole/episodes.jsonl"); len(a) != before {
		t.Error("an evaluation was recorded as training")
	}
	if played, err := os.ReadFile("played.jsonl"); err != nil || strings.Count(string(played), "\n") < 4 {
		t.Errorf("%d bytes of episodes, %v", len(played), err)
	}
	f, err := os.Open("film.gif")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if film, err := gif.DecodeAll(f); err != nil || len(film.Image) < 5 || len(film.Image) > 51 {
		t.Errorf("video: %v", err)
	}
}

// A recorder takes back what was recorded after the checkpoint, in its own files and in no other of
// the folder.
func TestWrapOthersFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine", "--wrap", "record=c")...)
	other := filepath.Join("mine", "c-of-mine")
	if err := os.WriteFile(other, []byte("not JSON"), 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, 0, "resume", "mine", "--steps", "512")
	contains(t, read(t, "mine", "config.yaml"), "steps: 512")
	if read(t, other) != "not JSON" {
		t.Error("another file was cut")
	}
	for _, file := range []string{"metrics.jsonl", "config.yaml", "checkpoints", "./log.txt"} {
		contains(t, do(t, 2, tiny("--out", "yours", "--wrap", "record="+file)...).errors, "--wrap: "+filepath.Base(file)+" is a file of the run's own: choose another name")
	}
	absent(t, "yours")
}

// A video is a GIF, whatever its file is called: other names are refused before anything is played.
func TestVideoName(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine", "--env", "CartPole-v1")...)
	contains(t, do(t, 2, "eval", "mine", "--video", "x.avi").errors, "--video: x.avi: a video is written as a GIF or an MP4: name a file that ends in .gif or .mp4, such as x.gif")
	contains(t, do(t, 2, "eval", "mine", "--video", "x").errors, "such as x.gif")
	contains(t, do(t, 2, "eval", "mine", "--video", "nowhere/x.gif").errors, "--video: ", "nowhere", "there is no folder nowhere for x.gif: make it first")
	contains(t, do(t, 2, "eval", "mine", "--record", "nowhere/x.jsonl").errors, "--record: ", "nowhere")
	contains(t, do(t, 2, tiny("--env", "CartPole-v1", "--wrap", "video=x.avi", "--out", "yours")...).errors, "--wrap: wrapper video=x.avi: a video is written as a GIF")
	for _, file := range []string{"x.avi", "x", "yours"} {
		absent(t, file)
	}
	do(t, 0, "eval", "mine", "--episodes", "1", "--video", "x.GIF")
	if text := read(t, "x.GIF"); !strings.HasPrefix(text, "GIF8") {
		t.Errorf("%.8q", text)
	}
}

func TestWrapMistakes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	o := do(t, 2, "train", "ppo", "--env", "CartPole-v1", "--wrap", "frames=3,time-limit", "--out", dir)
	contains(t, o.errors, "--wrap: wrapper frames=3: unknown wrapper", "wrapper time-limit: the number of steps is missing")
	o = do(t, 2, "train", "ppo", "--env", "CartPole-v1", "--wrap", "rescale-action", "--out", dir)
	contains(t, o.errors, "rescale-action: the action space has no continuous actions")
	if _, err := os.Stat(dir); err == nil {
		t.Error("a run that cannot start left a folder")
	}
	contains(t, do(t, 0, "list", "wrappers").out, "frame-stack=FRAMES", "normalize-obs[=10]")
	contains(t, do(t, 0, "list", "wrappers", "video").out, "video[=episode.gif]")
	contains(t, do(t, 2, "list", "wrappers", "vide").errors, `did you mean "video"?`)
}
