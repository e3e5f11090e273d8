package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes empty files below a folder.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFind(t *testing.T) {
	root := tree(t, "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so", "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
		"jax_plugins/xla_cuda13/xla_cuda_plugin.so", "nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libnvblas.so.13",
		"nvidia/cudnn/lib/libcudnn.so.9", "nvidia/cu13/bin/ptxas", "nvidia/cu12/lib/libcudart.so.12",
		"lib/pjrt_c_api_cpu_plugin.so", "lib/pjrt_c_api_cuda_plugin.so", "mine/my_gpu.so", "home/.local/lib/go-xla/pjrt_c_api_cpu_v1_plugin.so")
	at := func(parts ...string) string { return filepath.Join(append([]string{root}, parts...)...) }
	packages := func(func(string) string) []string { return []string{at("nothing"), root} }
	none := func(func(string) string) []string { return nil }
	tests := []struct {
		name     string
		kind     Kind
		env      map[string]string
		packages func(func(string) string) []string
		want     string // below root; or what the error says
	}{
		{"python, cpu", CPU, nil, packages, "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
		{"python, the newest cuda", CUDA, nil, packages, "jax_plugins/xla_cuda13/xla_cuda_plugin.so"},
		{"folders first", CPU, map[string]string{"PJRT_PLUGIN_LIBRARY_PATH": at("lib")}, packages, "lib/pjrt_c_api_cpu_plugin.so"},
		{"folders by kind", CUDA, map[string]string{"PJRT_PLUGIN_LIBRARY_PATH": at("lib")}, packages, "lib/pjrt_c_api_cuda_plugin.so"},
		{"home", CPU, map[string]string{"HOME": at("home")}, none, "home/.local/lib/go-xla/pjrt_c_api_cpu_v1_plugin.so"},
		{"variable before all", CUDA, map[string]string{Variable: at("mine/my_gpu.so"), "PJRT_PLUGIN_LIBRARY_PATH": at("lib")}, packages, "mine/my_gpu.so"},
		{"variable of another kind", CPU, map[string]string{Variable: at("mine/my_gpu.so")}, packages, "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
		{"variable with a folder", CPU, map[string]string{Variable: at("lib")}, packages, "lib/pjrt_c_api_cpu_plugin.so"},
		{"variable with nothing", CPU, map[string]string{Variable: at("absent.so")}, packages, "WEFT_XLA_PLUGIN: "},
		{"none, cpu", CPU, nil, none, "no plugin for XLA on CPUs: install one with: pip install xla-cpu-pjrt==0.0.1, or"},
		{"none, cuda", CUDA, nil, none, `no plugin for NVIDIA GPUs: install one with: pip install "jax[cuda13]", or`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := find(tt.kind, func(k string) string { return tt.env[k] }, tt.packages)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %s", err, tt.want)
				}
				if strings.HasPrefix(tt.name, "none") != errors.Is(err, ErrNone) {
					t.Errorf("error %v is ErrNone: %v", err, errors.Is(err, ErrNone))
				}
				return
			}
			if p.Path != at(tt.want) || p.Kind != tt.kind {
				t.Errorf("found %+v, want %s", p, tt.want)
			}
		})
	}
	p, err := find(CUDA, func(string) string { return "" }, packages)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{at("nvidia/cu13/lib/libcudart.so.13"), at("nvidia/cudnn/lib/libcudnn.so.9")}; !slices.Equal(p.Libraries, want) {
		t.Errorf("libraries %q, want %q", p.Libraries, want)
	}
	if p.Data != at("nvidia/cu13") {
		t.Errorf("data %s", p.Data)
	}
}

func TestFlags(t *testing.T) {
	with := Plugin{Data: "/cuda"}
	for _, tt := range []struct {
		have string
		p    Plugin
		want string
	}{
		{"", Plugin{}, ""}, {"", with, "--xla_gpu_cuda_data_dir=/cuda"},
		{"--a=b", with, "--a=b --xla_gpu_cuda_data_dir=/cuda"}, {"--xla_gpu_cuda_data_dir=/mine", with, ""},
		{"", Plugin{Kind: CUDA}, "--xla_gpu_deterministic_ops=true"}, {"", Plugin{Kind: CPU}, ""},
		{"--xla_gpu_deterministic_ops=false", Plugin{Kind: CUDA}, ""},
	} {
		if got := Flags(tt.have, tt.p); got != tt.want {
			t.Errorf("Flags(%q, %v) = %q, want %q", tt.have, tt.p, got, tt.want)
		}
	}
}

// TestPythons: an environment's packages are found without running anything of it.
func TestPythons(t *testing.T) {
	root := tree(t, "lib/python3.11/site-packages/x.py")
	t.Setenv("PATH", t.TempDir()) // no interpreter to ask
	got := pythons(func(k string) string { return map[string]string{"VIRTUAL_ENV": root}[k] })
	if want := []string{filepath.Join(root, "lib/python3.11/site-packages")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ask(filepath.Join(root, "absent")); got != nil {
		t.Errorf("an interpreter that is not there imports from %q", got)
	}
}
