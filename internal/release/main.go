// Command release makes what people install: archives of the weft command for several systems with
// their checksums and bills of materials, and a wheel for pip. Equal sources give equal files.
//
//	go run ./internal/release --out dist
//	go run ./internal/release --out dist --wheel --platforms linux/amd64
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// usual are the platforms of a release.
const usual = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r := release{}
	flag.StringVar(&r.out, "out", "dist", "folder to write into")
	flag.StringVar(&r.version, "version", "", "version; default: that of git describe")
	flag.BoolVar(&r.wheel, "wheel", false, "make wheels instead of archives")
	platforms := flag.String("platforms", "", "systems and architectures; default: all of "+usual+", and of a wheel this one")
	flag.Parse()
	if r.platforms = strings.Split(*platforms, ","); *platforms == "" {
		r.platforms = strings.Split(usual, ",")
		if r.wheel {
			r.platforms = []string{runtime.GOOS + "/" + runtime.GOARCH}
		}
	}
	if err := r.make(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release says which files to make, and of which version.
type release struct {
	out       string
	version   string
	wheel     bool
	platforms []string
	time      time.Time // of all files in archives
}

// make makes everything, and says what it made.
func (r *release) make(ctx context.Context) error {
	if err := r.describe(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	host, err := r.build(ctx, runtime.GOOS+"/"+runtime.GOARCH)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Dir(host))
	var made []string
	for _, p := range r.platforms {
		files, err := r.platform(ctx, p, host)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		made = append(made, files...)
		fmt.Println(strings.Join(files, " "))
	}
	return r.sums(made)
}

// describe finds the version and the time of the commit.
func (r *release) describe(ctx context.Context) error {
	text, err := output(ctx, "git", "describe", "--tags", "--always", "--dirty")
	if err != nil {
		return err
	}
	r.version = cmp.Or(r.version, versionOf(text))
	if text, err = output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	r.time = time.Unix(seconds, 0).UTC()
	return err
}

var tagged = regexp.MustCompile(`^v([0-9]+\.[0-9]+\.[0-9]+)(?:-([0-9]+)-g([0-9a-f]+))?(-dirty)?$`)

// versionOf returns what git describe says as a version that pip takes too: 1.2.3 of a tag,
// 1.2.3+5.gabc of a commit behind one, and 0.0.0+gabc where there is no tag.
func versionOf(described string) string {
	m := tagged.FindStringSubmatch(described)
	dirty := strings.HasSuffix(described, "-dirty")
	var out string
	switch {
	case m == nil:
		out = "0.0.0+g" + strings.TrimSuffix(described, "-dirty")
	case m[2] != "":
		out = m[1] + "+" + m[2] + ".g" + m[3]
	case dirty:
		return m[1] + "+dirty"
	default:
		return m[1]
	}
	if dirty {
		out += ".dirty"
	}
	return out
}

// output runs a program, and returns what it writes.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), err
}

// build builds the command for a platform, in a folder of its own.
func (r *release) build(ctx context.Context, platform string) (path string, err error) {
	system, arch, ok := strings.Cut(platform, "/")
	if !ok {
		return "", fmt.Errorf("%q is no platform such as linux/amd64", platform)
	}
	dir, err := os.MkdirTemp("", "weft-release-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "weft"+suffix(system))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=auto", "-ldflags=-s -w", "-o", path, "./cmd/weft")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	cmd.Stderr = os.Stderr
	return path, cmd.Run()
}

// suffix returns how programs of a system end.
func suffix(system string) string {
	if system == "windows" {
		return ".exe"
	}
	return ""
}

// platform makes the files for a platform. Host is the command for this one, which writes the
// manual.
func (r *release) platform(ctx context.Context, platform, host string) ([]string, error) {
	binary := host
	if platform != runtime.GOOS+"/"+runtime.GOARCH {
		var err error
		if binary, err = r.build(ctx, platform); err != nil {
			return nil, err
		}
		defer os.RemoveAll(filepath.Dir(binary))
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	system, arch, _ := strings.Cut(platform, "/")
	if r.wheel {
		name, data, err := wheel(r.version, system, arch, program, r.time)
		if err != nil {
			return nil, err
		}
		return []string{name}, os.WriteFile(filepath.Join(r.out, name), data, 0o644)
	}
	bill, err := billOf(binary, r.version)
	if err != nil {
		return nil, err
	}
	files, err := r.contents(ctx, host, program, suffix(system))
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("weft-%s-%s-%s", r.version, system, arch)
	archive, data, err := pack(name, system, files, r.time)
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{archive: data, name + ".cdx.json": bill}
	for file, data := range made {
		if err := os.WriteFile(filepath.Join(r.out, file), data, 0o644); err != nil {
			return nil, err
		}
	}
	return []string{archive, name + ".cdx.json"}, nil
}

// contents returns the files of an archive.
func (r *release) contents(ctx context.Context, host string, program []byte, suffix string) (out []file, err error) {
	out = append(out, file{"weft" + suffix, program, 0o755})
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out = append(out, file{name, text, 0o644})
	}
	for name, args := range map[string][]string{
		"weft.1": {"man"}, "completions/weft.bash": {"completion", "bash"}, "completions/_weft": {"completion", "zsh"},
		"completions/weft.fish": {"completion", "fish"}, "completions/weft.ps1": {"completion", "powershell"}, "weft.schema.json": {"config", "schema"},
	} {
		text, err := output(ctx, host, args...)
		if err != nil {
			return nil, err
		}
		out = append(out, file{name, []byte(text + "\n"), 0o644})
	}
	slices.SortFunc(out, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return out, nil
}

// sums writes the checksums of files, for sha256sum -c.
func (r *release) sums(made []string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(slices.Values(made)) {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	name := "SHA256SUMS"
	if r.wheel {
		name = "SHA256SUMS.wheel"
	}
	return os.WriteFile(filepath.Join(r.out, name), []byte(b.String()), 0o644)
}
