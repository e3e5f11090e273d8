package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// build describes how this program was built.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // commit of the version control system
	Time     string `json:"time,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // files differed from the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	CGO      bool   `json:"cgo"`
	Tags     string `json:"tags,omitempty"`
}

// thisBuild reads what the Go command has noted in this program.
func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
}

// buildOf returns what is noted; nil is a program in which nothing is.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, d := range info.Deps { // a program of an author's own
		if d.Path == modulePath {
			b.Version = d.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "CGO_ENABLED":
			b.CGO = s.Value == "1"
		case "-tags":
			b.Tags = s.Value
		}
	}
	return b
}

const modulePath = "github.com/weft-rl/weft"

// String returns the build in one line.
func (b build) String() string {
	parts := []string{"weft " + b.Version}
	if b.Revision != "" {
		commit := "commit " + b.Revision[:min(12, len(b.Revision))]
		if b.Time != "" {
			commit += " of " + b.Time
		}
		if b.Modified {
			commit += ", modified"
		}
		parts = append(parts, commit)
	}
	parts = append(parts, b.Go+" "+b.OS+"/"+b.Arch)
	if b.Tags != "" {
		parts = append(parts, "tags "+b.Tags)
	}
	return strings.Join(parts, "; ")
}

func (c *command) version() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which Weft this is",
		Long: "Version says which version of Weft this program is, of which commit, and which Go built it for which system.\n" +
			"A program that was built outside of a repository knows no commit.",
		Example: "  weft version\n  weft version --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return json.NewEncoder(c.out).Encode(thisBuild())
			}
			_, err := fmt.Fprintln(c.out, thisBuild())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object and nothing else")
	return cmd
}
