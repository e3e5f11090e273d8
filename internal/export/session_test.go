package export_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// array is a tensor on its way to onnxruntime or back.
type array struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Shape []int  `json:"shape"`
	Bytes int    `json:"bytes"`
	data  []byte
}

func arrayOf(name string, t rl.Tensor) array {
	s := t.Shape()
	kind := strings.ToLower(s.DType.String())
	data := rl.System.Bytes(t)
	return array{name, kind, append([]int{}, s.Dimensions...), len(data), data}
}

func (a array) tensor(d *rl.Device) rl.Tensor {
	kind, err := dtypes.DTypeString(a.Type)
	if err != nil {
		rl.Failf("%v", err)
	}
	return rl.System.Adopt(d, shapes.Make(kind, a.Shape...), a.data)
}

// onnxruntime is a process that runs models.
type onnxruntime struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// packaged looks for onnxruntime, once.
var packaged = sync.OnceValue(func() error {
	return exec.Command(python(), "-c", "import onnxruntime").Run()
})

func python() string { return cmp.Or(os.Getenv("WEFT_PYTHON"), "python3") }

func startRuntime(t *testing.T) *onnxruntime {
	t.Helper()
	if err := packaged(); err != nil {
		t.Skipf("bridge test skipped: onnxruntime is not there (pip install onnxruntime): %v", err)
	}
	r := &onnxruntime{cmd: exec.CommandContext(t.Context(), python(), "testdata/session.py")}
	r.cmd.Stderr = os.Stderr
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.in.Close()
		_ = r.cmd.Wait()
	})
	return r
}

// run runs a model. What it does not take is not given to it.
func (r *onnxruntime) run(model string, in []array) (out map[string]array, inputs []string) {
	head, err := json.Marshal(map[string]any{"model": model, "arrays": in})
	if err == nil {
		_, err = r.in.Write(append(head, '\n'))
	}
	for _, a := range in {
		if err == nil {
			_, err = r.in.Write(a.data)
		}
	}
	var answer struct {
		Arrays []array  `json:"arrays"`
		Inputs []string `json:"inputs"`
	}
	var line []byte
	if err == nil {
		line, err = r.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &answer)
	}
	out = map[string]array{}
	for _, a := range answer.Arrays {
		a.data = make([]byte, a.Bytes)
		if err == nil {
			_, err = io.ReadFull(r.out, a.data)
		}
		out[a.Name] = a
	}
	if err != nil {
		rl.Failf("onnxruntime: %v", err)
	}
	return out, answer.Inputs
}

func cpu(t *testing.T) *rl.Device {
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func shapeOf(d dtypes.DType, dims ...int) shapes.Shape { return shapes.Make(d, dims...) }

func boolShape(dims ...int) shapes.Shape { return shapes.Make(dtypes.Bool, dims...) }
