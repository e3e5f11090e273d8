package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// decimal matches the numbers people write: a sign, digits that underscores may
// group, a fraction, a power of ten. Hexadecimal, octal by a leading zero and the
// words for infinity are left out on purpose: each has surprised someone.
var decimal = regexp.MustCompile(`^([+-]?)(\d(?:_?\d)*)?(?:\.(\d(?:_?\d)*)?)?(?:[eE]([+-]?\d+))?$`)

// digits splits the text of a number, underscores removed; whole or fraction may
// be empty, not both.
func digits(text string) (sign, whole, fraction, exponent string, ok bool) {
	m := decimal.FindStringSubmatch(text)
	if m == nil || m[2]+m[3] == "" {
		return "", "", "", "", false
	}
	bare := func(s string) string { return strings.ReplaceAll(s, "_", "") }
	return m[1], bare(m[2]), bare(m[3]), m[4], true
}

// maxDigits is the length of the largest uint64.
const maxDigits = 20

// parseWhole rewrites 1e6, 1_000_000 or 1.5e3 as plain digits, exactly: going by
// way of a float64 would lose the low bits of a large seed.
func parseWhole(text string) (string, error) {
	sign, whole, fraction, exponent, ok := digits(strings.TrimSpace(text))
	if !ok {
		return "", fmt.Errorf("%q is not a whole number", text)
	}
	all := strings.TrimLeft(whole+fraction, "0")
	kept := strings.TrimRight(all, "0")
	if kept == "" {
		return "0", nil
	}
	// An exponent too long to hold comes back as the nearest that can be held,
	// which serves as well: the number is far too large or far from whole.
	power, _ := strconv.ParseInt(exponent, 10, 32)
	zeros := power - int64(len(fraction)) + int64(len(all)-len(kept))
	switch {
	case zeros < 0:
		return "", fmt.Errorf("%q is not a whole number", text)
	case int64(len(kept))+zeros > maxDigits:
		return "", tooLarge(text)
	}
	return strings.TrimPrefix(sign, "+") + kept + strings.Repeat("0", int(zeros)), nil
}

func parseInt(text string, bits int) (int64, error) {
	plain, err := parseWhole(text)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(plain, 10, bits)
	if err != nil {
		return 0, tooLarge(text)
	}
	return n, nil
}

func parseUint(text string, bits int) (uint64, error) {
	plain, err := parseWhole(text)
	if err != nil {
		return 0, err
	}
	if strings.HasPrefix(plain, "-") {
		return 0, fmt.Errorf("%q is below zero", text)
	}
	n, err := strconv.ParseUint(plain, 10, bits)
	if err != nil {
		return 0, tooLarge(text)
	}
	return n, nil
}

func parseFloat(text string) (float64, error) {
	trimmed := strings.TrimSpace(text)
	if _, _, _, _, ok := digits(trimmed); !ok {
		return 0, notNumber(text)
	}
	x, err := strconv.ParseFloat(strings.ReplaceAll(trimmed, "_", ""), 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, tooLarge(text)
	}
	return x, err
}

// notNumber says more of the values that are floats in Go and YAML but can be
// no setting.
func notNumber(text string) error {
	switch strings.ToLower(strings.TrimLeft(text, "+-. ")) {
	case "inf", "infinity", "nan":
		return fmt.Errorf("%q is not a finite number", text)
	}
	return fmt.Errorf("%q is not a number", text)
}

func tooLarge(text string) error { return fmt.Errorf("%q is too large to be held", text) }
