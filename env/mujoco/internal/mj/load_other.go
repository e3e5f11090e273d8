//go:build !unix

package mj

import "errors"

func dlopen(string) (uintptr, error) {
	return 0, errors.New("native MuJoCo needs Linux or macOS: use the Python bridge")
}

func dlsym(uintptr, string) uintptr { return 0 }
