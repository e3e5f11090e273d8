package plain

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestText: nothing that a terminal would obey is left, and nothing else changes.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"plain text\n\tgöes on": "plain text\n\tgöes on",
		"\x1b[2Jgone":           `\x1b[2Jgone`,
		"a\rb\x07\x7f\x00":      `a\x0db\x07\x7f\x00`,
		"\u009b31m":             `\x9b31m`,
		"\u202eexe.txt":         `\u202eexe.txt`,
		"\xff\xfe":              `\xff\xfe`,
	} {
		if got := Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := Line("one\ntwo\x1b\n"); got != `one\ntwo\x1b` {
		t.Errorf("%q", got)
	}
}

// FuzzWriter: however text is cut, it is written as Text has it, and holds nothing bad.
func FuzzWriter(f *testing.F) {
	f.Add("göes \x1b[0m on\n", 3)
	f.Add("\xff\u202e日本", 1)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var out bytes.Buffer
		w := Writer(&out)
		for rest := text; rest != ""; {
			n := min(len(rest), max(1, cut))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if got := out.String(); !strings.HasPrefix(Text(text), got) || utf8.ValidString(text) && got != Text(text) {
			t.Errorf("%q in pieces of %d became %q, want %q", text, cut, got, Text(text))
		}
		if strings.IndexFunc(out.String(), bad) >= 0 {
			t.Errorf("%q became %q", text, out.String())
		}
	})
}
