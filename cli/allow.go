package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

// allowed are the files and folders of a machine that submitted runs may name.
type allowed []string

func (a *allowed) flags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar((*[]string)(a), "allow", nil,
		"`path` of a program, or of a folder, that submitted runs may name, as with --python; may be repeated; by default they name none of this machine")
}

// folders returns the allowed folders as full paths.
func (a allowed) folders() (out []string, err error) {
	for _, path := range a {
		full, err := filepath.Abs(path)
		if err != nil || path == "" {
			return nil, fmt.Errorf("--allow: %q is not a path", path)
		}
		out = append(out, full)
	}
	return out, nil
}

// everything returns flags of processes that are only for who started them.
func everything() []string { return []string{"--allow", string(filepath.Separator)} }
