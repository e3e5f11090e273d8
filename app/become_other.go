//go:build !unix

package app

import "errors"

func become(string, []string) error { return errors.ErrUnsupported }
