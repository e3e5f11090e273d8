package metrics

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

func fixedClock() time.Time { return time.Unix(1_700_000_000, 500_000_000) }

func openEvents(t *testing.T, dir string, step int64) *TensorBoard {
	t.Helper()
	tb, err := openTensorBoard(dir, step, fixedClock)
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// writeEvents writes one file: a scalar "a" that is scale times the step.
func writeEvents(t *testing.T, dir string, resume int64, scale float64, steps ...int64) {
	t.Helper()
	tb := openEvents(t, dir, resume)
	for _, s := range steps {
		if err := tb.Write(Row{Step: s, Values: []Value{{"loss/a", scale * float64(s)}, {"b", 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
}

func eventFileNames(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestTensorBoardEvents(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "here")
	tb := openEvents(t, dir, 41)
	row := Row{Step: 300, Values: []Value{{"loss/policy", 0.1}, {"x", math.NaN()}, {"y", 1e300}}}
	if err := tb.Write(row); err != nil {
		t.Fatal(err)
	}
	if err := tb.Text(-1, "config", "lr: 3e-4"); err != nil {
		t.Fatal(err)
	}
	if err := tb.Write(Row{Values: []Value{{}}}); err == nil {
		t.Error("a value without a name was written")
	}
	names := eventFileNames(t, dir)
	if len(names) != 1 {
		t.Fatalf("files: %v", names)
	}
	want := []string{
		`1700000000.5 step 0: version "brain.Event:2"`,
		`1700000000.5 step 42: session 1`,
		`1700000000.5 step 300: "loss/policy"=0.1 "x"=NaN "y"=+Inf`,
		`1700000000.5 step -1: "config" plugin "text" tensor type 7 shape "" "lr: 3e-4"`,
	}
	// Read before Close: a row must not wait in the process.
	if got := decodeEvents(t, []byte(readFile(t, names[0]))); !slices.Equal(got, want) {
		t.Errorf("events %q\nwant   %q", got, want)
	}
	if err := tb.Close(); err != nil {
		t.Error(err)
	}
}

func TestTensorBoardStart(t *testing.T) {
	for _, tt := range []struct {
		resume int64
		want   string
	}{
		{-1, `1700000000.5 step 0: session 1`},
		{-9, `1700000000.5 step 0: session 1`},
		{0, `1700000000.5 step 1: session 1`}, // what was reported at step 0 stays
	} {
		dir := t.TempDir()
		writeEvents(t, dir, tt.resume, 1)
		got := decodeEvents(t, []byte(readFile(t, eventFileNames(t, dir)[0])))
		if len(got) != 2 || got[1] != tt.want {
			t.Errorf("resume %d: %q, want %q", tt.resume, got, tt.want)
		}
	}
}

// Names must sort in the order in which the files were begun, even within a
// second or when the clock was set back.
func TestEventFileNames(t *testing.T) {
	dir := t.TempDir()
	form := regexp.MustCompile(`^events\.out\.tfevents\.\d{10}\..+\.\d+\.\d+$`)
	var begun []string
	for _, unix := range []int64{1_700_000_000, 1_700_000_000, 1_600_000_000, 1_800_000_000} {
		f, err := createEventFile(dir, time.Unix(unix, 0))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		begun = append(begun, f.Name())
		if !form.MatchString(filepath.Base(f.Name())) {
			t.Errorf("name %q", f.Name())
		}
	}
	if !slices.IsSorted(begun) {
		t.Errorf("names are not in order: %q", begun)
	}
	os.WriteFile(filepath.Join(dir, "events.out.tfevents.rubbish"), nil, 0o644)
	if newest, err := newestEventFile(dir); newest != 1_800_000_000 || err != nil {
		t.Errorf("newestEventFile() = %d, %v", newest, err)
	}
	if _, err := openTensorBoard(begun[0], -1, fixedClock); err == nil {
		t.Error("opened a folder that is a file")
	}
}

// readWithTensorBoard prints the points of tag loss/a that TensorBoard itself
// would show, and the text.
const readWithTensorBoard = `
import json, sys
from tensorboard.backend.event_processing import plugin_event_accumulator as acc
from tensorboard.util import tensor_util
a = acc.EventAccumulator(sys.argv[1])
a.Reload()
read = lambda tag: [[e.step, tensor_util.make_ndarray(e.tensor_proto).item()] for e in a.Tensors(tag)]
text = [[s, x.decode()] for s, x in read("config")]
plugin = {tag: a.SummaryMetadata(tag).plugin_data.plugin_name for tag in ("loss/a", "b", "config")}
print(json.dumps({"a": read("loss/a"), "b": len(read("b")), "text": text, "plugin": plugin}))
`

// The real TensorBoard reads a run that was killed in the middle of a record
// at step 6, resumed from a checkpoint at step 3, and forgets steps 4 and 5 of
// the first process.
func TestRealTensorBoard(t *testing.T) {
	if err := exec.Command("python3", "-c", "import tensorboard").Run(); err != nil {
		t.Skipf("python3 with tensorboard is not there: %v", err)
	}
	dir := t.TempDir()
	writeEvents(t, dir, -1, 1, 1, 2, 3, 4, 5, 6)
	tear(t, eventFileNames(t, dir)[0])
	writeEvents(t, dir, 3, 10, 4)
	tb := openEvents(t, dir, 4)
	if err := tb.Text(5, "config", "lr: **3e-4**"); err != nil {
		t.Fatal(err)
	}
	if err := tb.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-c", readWithTensorBoard, dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	const want = `{"a":[[1,1],[2,2],[3,3],[4,40]],"b":4,"plugin":{"b":"scalars","config":"text","loss/a":"scalars"},` +
		`"text":[[5,"lr: **3e-4**"]]}`
	var got any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if sorted, _ := json.Marshal(got); string(sorted) != want {
		t.Errorf("TensorBoard shows\n%s\nwant\n%s\n%s", sorted, want, &stderr)
	}
}

// tear cuts the last record of the file short.
func tear(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-7)
	}
	if err != nil {
		t.Fatal(err)
	}
}
