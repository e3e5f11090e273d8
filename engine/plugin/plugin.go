// Package plugin finds PJRT plugins, the libraries through which XLA runs on a kind of device, and
// the libraries they need. It only looks at files, so it needs neither cgo nor a plugin.
//
// It looks, in this order, at WEFT_XLA_PLUGIN (a file or folder, or several),
// PJRT_PLUGIN_LIBRARY_PATH (folders), where go-xla installs plugins, and in the packages of the
// Pythons at hand: the active environment, .venv in the working folder, and python3 on the path.
package plugin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Kind is the kind of device that a plugin serves.
type Kind string

// The kinds that are looked for.
const (
	CPU  Kind = "cpu"
	CUDA Kind = "cuda"
)

// Plugin is a plugin that was found.
type Plugin struct {
	Kind      Kind
	Path      string   // path of the library
	Libraries []string // libraries to load before the plugin, in any order
	Data      string   // the folder with CUDA's tools (bin/ptxas), or empty
}

// Variable names the environment variable with the plugins to use before all others.
const Variable = "WEFT_XLA_PLUGIN"

// install is how to get a plugin, as a sentence.
var install = map[Kind]string{
	CPU:  "install one with: pip install xla-cpu-pjrt==0.0.1",
	CUDA: `install one with: pip install "jax[cuda13]"`,
}

// ErrNone is that no plugin was found.
var ErrNone = errors.New("no plugin")

// Find returns the first plugin for the kind of device. The error says what to install.
func Find(kind Kind) (Plugin, error) { return find(kind, os.Getenv, pythons) }

// find does what Find does with the environment given.
func find(kind Kind, env func(string) string, packages func(env func(string) string) []string) (Plugin, error) {
	for _, place := range filepath.SplitList(env(Variable)) {
		path, err := named(kind, place)
		if path != "" || err != nil {
			return complete(kind, path, nil), err
		}
	}
	for _, dir := range folders(env) {
		if path := in(kind, dir); path != "" {
			return complete(kind, path, nil), nil
		}
	}
	roots := packages(env)
	for _, root := range roots {
		for _, pattern := range inPackages[kind] {
			if path := newest(filepath.Join(root, pattern)); path != "" {
				return complete(kind, path, roots), nil
			}
		}
	}
	return Plugin{}, fmt.Errorf("%w for %s: %s, or give its path in %s", ErrNone, describe(kind), install[kind], Variable)
}

func describe(kind Kind) string {
	if kind == CPU {
		return "XLA on CPUs"
	}
	return "NVIDIA GPUs"
}

// inPackages is where Python packages keep their plugins.
var inPackages = map[Kind][]string{
	CPU:  {"xla_plugins/xla_cpu_pjrt/*.so", "xla_cpu_pjrt/*.so"},
	CUDA: {"jax_plugins/xla_cuda*/xla_cuda_plugin.so"},
}

// named returns the plugin that a place of the variable names; a place of another kind is passed
// over.
func named(kind Kind, place string) (string, error) {
	info, err := os.Stat(place)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Variable, err)
	}
	if info.IsDir() {
		return in(kind, place), nil
	}
	if kindOf(place) == kind {
		return place, nil
	}
	return "", nil
}

// folders returns where plugins are installed without Python.
func folders(env func(string) string) []string {
	dirs := filepath.SplitList(env("PJRT_PLUGIN_LIBRARY_PATH"))
	if home := env("HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".local/lib/go-xla"), filepath.Join(home, ".local/lib/go-xla/nvidia"))
	}
	return append(dirs, "/usr/local/lib/go-xla", "/usr/local/lib/go-xla/nvidia")
}

// in returns the plugin of that kind in a folder, by the names that plugins have.
func in(kind Kind, dir string) string {
	for _, pattern := range []string{"pjrt_c_api_*_plugin.*", "pjrt-plugin-*", "pjrt_plugin_*", "xla_*_pjrt.so", "xla_*_plugin.so"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is well formed
		for _, f := range files {
			if ext := filepath.Ext(f); (ext == ".so" || ext == ".dylib") && kindOf(f) == kind {
				return f
			}
		}
	}
	return ""
}

func kindOf(path string) Kind {
	name := strings.ToLower(filepath.Base(path))
	for _, word := range []string{"cuda", "gpu", "nvidia"} {
		if strings.Contains(name, word) {
			return CUDA
		}
	}
	return CPU
}

// newest returns the last match of a pattern, which has the highest version.
func newest(pattern string) string {
	files, _ := filepath.Glob(pattern)
	if len(files) == 0 {
		return ""
	}
	return files[len(files)-1]
}

// complete adds the libraries that a CUDA plugin asks for by name: those of the Python packages
// beside it, or else of the other places.
func complete(kind Kind, path string, roots []string) Plugin {
	p := Plugin{Kind: kind, Path: path}
	if kind != CUDA || path == "" {
		return p
	}
	beside := filepath.Dir(filepath.Dir(filepath.Dir(path))) // site-packages/jax_plugins/xla_cuda13/plugin.so
	for _, root := range append([]string{beside, filepath.Dir(beside), filepath.Dir(path)}, roots...) {
		nvidia := filepath.Join(root, "nvidia")
		if p.Libraries = libraries(nvidia, filepath.Base(filepath.Dir(path))); len(p.Libraries) > 0 {
			p.Data = toolkit(nvidia)
			return p
		}
	}
	return p
}

// wanted are the libraries of CUDA that XLA uses; the packages have more, and some do things when
// they are loaded.
var wanted = []string{"libcudart", "libnvJitLink", "libcublasLt", "libcublas", "libcusparse", "libcusolver", "libcufft",
	"libcupti", "libnvrtc", "libcudnn", "libnccl", "libnvshmem_host"}

// libraries returns the libraries that the plugin needs. A folder of another version of CUDA than
// the plugin's (cu13 beside xla_cuda12) is not.
func libraries(nvidia, folder string) (paths []string) {
	files, _ := filepath.Glob(filepath.Join(nvidia, "*/lib/*.so*"))
	for _, f := range files {
		stem, _, _ := strings.Cut(filepath.Base(f), ".so")
		version, versioned := strings.CutPrefix(filepath.Base(filepath.Dir(filepath.Dir(f))), "cu1")
		other := versioned && strings.HasPrefix(folder, "xla_cuda") && folder != "xla_cuda1"+version
		if slices.Contains(wanted, stem) && !other {
			paths = append(paths, f)
		}
	}
	return paths
}

func toolkit(nvidia string) string {
	tools, _ := filepath.Glob(filepath.Join(nvidia, "*/bin/ptxas"))
	if len(tools) == 0 {
		return ""
	}
	return filepath.Dir(filepath.Dir(tools[len(tools)-1]))
}

// Flags returns what XLA_FLAGS must be for the plugin, given what it is. It adds the folder of
// CUDA's tools, and that a GPU computes the same every time: XLA otherwise picks kernels by the
// clock, and has some that add in the order of arrival, so that a run repeated or resumed in
// another process would end in other weights. What is named already stays. It is empty if nothing
// has to be set.
func Flags(have string, p Plugin) string {
	out := have
	add := func(flag, value string) {
		if !strings.Contains(have, flag) {
			out = strings.TrimSpace(out + " " + flag + "=" + value)
		}
	}
	if p.Data != "" {
		add("--xla_gpu_cuda_data_dir", p.Data)
	}
	if p.Kind == CUDA {
		add("--xla_gpu_deterministic_ops", "true")
	}
	if out == have {
		return ""
	}
	return out
}
