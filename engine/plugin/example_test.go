package plugin_test

import (
	"fmt"

	"github.com/weft-rl/weft/engine/plugin"
)

// The folder of CUDA's tools is added to the flags that XLA reads from its environment.
func ExampleFlags() {
	p := plugin.Plugin{Kind: plugin.CUDA, Data: "/opt/cuda"}
	fmt.Println(plugin.Flags("--xla_dump_to=/tmp/dump", p))
	// Output: --xla_dump_to=/tmp/dump --xla_gpu_cuda_data_dir=/opt/cuda --xla_gpu_deterministic_ops=true
}
