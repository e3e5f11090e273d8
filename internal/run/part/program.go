package part

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
)

// Program is a program that a run brings along, for workers of one platform. Its hash is its name
// wherever it is kept.
type Program struct {
	Platform string `json:"platform"` // GOOS/GOARCH
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"` // bytes
}

// Platform returns the platform of this process.
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

var (
	hashes    = regexp.MustCompile(`^[0-9a-f]{64}$`)
	platforms = regexp.MustCompile(`^[a-z0-9]{1,16}/[a-z0-9]{1,16}$`)
)

// Check refuses a description that cannot be one of a program. The hash becomes part of a path.
func (p Program) Check() error {
	switch {
	case !hashes.MatchString(p.SHA256):
		return fmt.Errorf("%.80q is not the SHA-256 of a program, 64 hexadecimal digits", p.SHA256)
	case !platforms.MatchString(p.Platform):
		return fmt.Errorf("%.80q is not a platform, such as linux/amd64", p.Platform)
	case p.Size < 1:
		return fmt.Errorf("program %.12s has %d bytes", p.SHA256, p.Size)
	}
	return nil
}

// String returns the platform and the beginning of the hash.
func (p Program) String() string { return fmt.Sprintf("%.12s for %s", p.SHA256, p.Platform) }

// maxPrograms bounds the platforms that a run brings programs for.
const maxPrograms = 16

// CheckPrograms refuses descriptions of programs that make no sense together.
func CheckPrograms(all []Program) error {
	if len(all) > maxPrograms {
		return fmt.Errorf("a run brings %d programs: at most %d are taken", len(all), maxPrograms)
	}
	for i, p := range all {
		if err := p.Check(); err != nil {
			return err
		}
		if slices.ContainsFunc(all[:i], func(o Program) bool { return o.Platform == p.Platform }) {
			return fmt.Errorf("a run brings two programs for %s", p.Platform)
		}
	}
	return nil
}

// ProgramFor returns the program for a platform; nil if there is none.
func ProgramFor(all []Program, platform string) *Program {
	for i := range all {
		if all[i].Platform == platform {
			return &all[i]
		}
	}
	return nil
}
