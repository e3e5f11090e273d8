//go:build !unix

package cli

import "errors"

func become(string, []string) error { return errors.ErrUnsupported }
