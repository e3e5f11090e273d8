package request

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/config"
)

// extends is the key of a run file that names the files it builds on.
const extends = "extends"

// ReadFiles reads files of settings as one. A later file overrides an earlier one, and a file
// overrides those that its key extends names, which are relative to its folder: the first of them
// counts least. Everything that is wrong with any of them is reported.
func ReadFiles(paths []string) ([]config.Assignment, error) {
	c := &composer{}
	for _, path := range paths {
		c.read(path, "", nil)
	}
	return c.out, errors.Join(c.problems...)
}

// Extended returns settings that were read from a file, with those that they extend.
func Extended(settings []config.Assignment, path string) ([]config.Assignment, error) {
	c := &composer{}
	c.add(settings, path, nil)
	return c.out, errors.Join(c.problems...)
}

// composer puts files of settings together.
type composer struct {
	out      []config.Assignment
	problems []error
}

// read adds a file, and before it those that it extends. Open are the files that led to it; source
// is where it was named.
func (c *composer) read(path, source string, open []string) {
	name, err := filepath.Abs(path)
	if err == nil && slices.Contains(open, name) {
		err = fmt.Errorf("%s: extends: %s extends itself, by way of %s", source, path, strings.Join(append(open, name), ", "))
	}
	if err != nil {
		c.problems = append(c.problems, err)
		return
	}
	file, err := ReadFile(path)
	if err != nil {
		if source != "" {
			err = fmt.Errorf("%s: extends: %w", source, err)
		}
		c.problems = append(c.problems, err)
	}
	c.add(file, path, append(slices.Clone(open), name))
}

// add adds the settings of a file at path, and before them those of the files that it extends. Open
// are the files that led to it, itself included.
func (c *composer) add(file []config.Assignment, path string, open []string) {
	var own []config.Assignment
	for _, a := range file {
		if a.Key != extends {
			own = append(own, a)
			continue
		}
		bases, err := config.Items(a.Value)
		if err != nil {
			c.problems = append(c.problems, fmt.Errorf("%s: extends: %w", a.Source, err))
		}
		for _, base := range bases {
			if !filepath.IsAbs(base) {
				base = filepath.Join(filepath.Dir(path), base)
			}
			c.read(base, a.Source, open)
		}
	}
	c.out = override(c.out, gathered(own))
}

// override returns settings with others in the place of those that they set too.
func override(below, above []config.Assignment) []config.Assignment {
	kept := slices.DeleteFunc(slices.Clone(below), func(a config.Assignment) bool {
		return slices.ContainsFunc(above, func(b config.Assignment) bool { return a.Key == b.Key })
	})
	return append(kept, above...)
}
