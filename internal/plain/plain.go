// Package plain makes text of other processes safe to show: what they wrote must not move a
// terminal's cursor, hide lines or pretend to be others.
package plain

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text with control characters, and what is no UTF-8, written as escapes such as \x1b.
// New lines and tabs stay.
func Text(text string) string {
	if safe(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !bad(r):
			b.WriteString(text[i : i+n])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// Line returns text as one line that is safe to show.
func Line(text string) string {
	return strings.ReplaceAll(Text(strings.TrimRight(text, "\n")), "\n", `\n`)
}

func safe(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, bad) < 0
}

// bad reports whether a terminal may obey a character instead of showing it: control characters,
// and those that change the direction of what follows.
func bad(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}

// Writer returns a writer that writes text to w as Text has it. A character may be split between
// two calls.
func Writer(w io.Writer) io.Writer { return &writer{to: w} }

type writer struct {
	to   io.Writer
	half []byte // beginning of a character
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	text := append(w.half, p...)
	whole := len(text)
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-n:]) {
				whole = len(text) - n
			}
			break
		}
	}
	w.half = append([]byte(nil), text[whole:]...)
	if _, err := io.WriteString(w.to, Text(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
