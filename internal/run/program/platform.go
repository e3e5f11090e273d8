package program

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// header is how many bytes of a program tell its platform.
const header = 20

var (
	elfSystems  = map[byte]string{0: "linux", 3: "linux", 9: "freebsd"}
	elfMachines = map[uint16]string{3: "386", 40: "arm", 62: "amd64", 183: "arm64", 243: "riscv64"}
	machines    = map[uint32]string{0x01000007: "amd64", 0x0100000c: "arm64"} // of Mach-O
)

var errFormat = errors.New("it is not a program: it begins neither as an ELF nor as a Mach-O executable")

// platform returns the platform of a program that begins with head.
func platform(head []byte) (string, error) {
	switch {
	case len(head) < header:
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return elfPlatform(head)
	case binary.LittleEndian.Uint32(head) == 0xfeedfacf:
		if arch := machines[binary.LittleEndian.Uint32(head[4:])]; arch != "" {
			return "darwin/" + arch, nil
		}
		return "", errors.New("it is a program for an unknown machine of macOS")
	}
	return "", errFormat
}

func elfPlatform(head []byte) (string, error) {
	if head[5] != 1 { // little endian
		return "", errors.New("it is a program for a big-endian machine")
	}
	kind := binary.LittleEndian.Uint16(head[16:])
	if kind != 2 && kind != 3 { // executable, or one that can be loaded anywhere
		return "", fmt.Errorf("it is an ELF file of type %d, not an executable", kind)
	}
	system, machine := elfSystems[head[7]], elfMachines[binary.LittleEndian.Uint16(head[18:])]
	if system == "" || machine == "" {
		return "", fmt.Errorf("it is an ELF file for system %d and machine %d, which weft does not know", head[7], binary.LittleEndian.Uint16(head[18:]))
	}
	return system + "/" + machine, nil
}
