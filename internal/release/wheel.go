package main

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

//go:embed all:python
var module embed.FS

// tags has pip's names of the platforms. The program is static, so that any Linux runs it.
var tags = map[string]string{
	"linux/amd64": "manylinux2014_x86_64.musllinux_1_1_x86_64", "linux/arm64": "manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64", "windows/amd64": "win_amd64",
}

const about = `Metadata-Version: 2.1
Name: weft-rl
Version: %s
Summary: Train reinforcement-learning agents: the weft command, and a module that starts runs and reads them
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

%s`

// wheel returns a wheel: the program among the scripts, and the Python module.
func wheel(version, system, arch string, program []byte, at time.Time) (name string, data []byte, err error) {
	tag, ok := tags[system+"/"+arch]
	if !ok {
		return "", nil, fmt.Errorf("pip has no name for it")
	}
	base := "weft_rl-" + version
	readme, err := module.ReadFile("python/README.md")
	if err != nil {
		return "", nil, err
	}
	files, err := moduleFiles()
	if err != nil {
		return "", nil, err
	}
	kind := "Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\n"
	for t := range strings.SplitSeq(tag, ".") {
		kind += "Tag: py3-none-" + t + "\n"
	}
	info := base + ".dist-info/"
	files = append(files,
		file{base + ".data/scripts/weft" + suffix(system), program, 0o755},
		file{info + "METADATA", fmt.Appendf(nil, about, version, readme), 0o644},
		file{info + "WHEEL", []byte(kind), 0o644},
	)
	files = append(files, file{info + "RECORD", record(files, info+"RECORD"), 0o644})
	data, err = zipped(files, at)
	return base + "-py3-none-" + tag + ".whl", data, err
}

// moduleFiles returns the Python module.
func moduleFiles() (out []file, err error) {
	err = fs.WalkDir(module, "python/weft", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".py") {
			return err
		}
		text, err := module.ReadFile(path)
		out = append(out, file{strings.TrimPrefix(path, "python/"), text, 0o644})
		return err
	})
	return out, err
}

// record lists files with their hashes, as pip checks them, and itself without.
func record(files []file, self string) []byte {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&b, "%s,,\n", self)
	return []byte(b.String())
}
