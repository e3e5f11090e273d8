package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTable(t *testing.T) {
	var b strings.Builder
	fields := []Field{
		{Key: "envs", Kind: "int", Default: "4", Unit: "environments", Range: "[1,)", Doc: "environments stepped together"},
		{Key: "net.hidden", Kind: "int list", Default: "64,64", Doc: "width of each hidden layer, from the one that sees the observation on"},
		{Key: "note", Kind: "string", Doc: "größer"},
		{Key: "a_key_that_goes_on_well_past_the_widest_column", Kind: "string", Default: "a", OneOf: []string{"a", "b"}, Doc: "odd"},
	}
	if err := Table(&b, fields); err != nil {
		t.Fatal(err)
	}
	want := `SETTING                   TYPE      DEFAULT  MEANING
envs                      int       4        environments stepped together; unit
                                             environments; range [1,)
net.hidden                int list  64,64    width of each hidden layer, from
                                             the one that sees the observation
                                             on
note                      string    ""       größer
a_key_that_goes_on_well_  string    a        odd; one of a, b
past_the_widest_column
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(line) - 1; n > Width {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

type brokenPipe struct{}

var errBroken = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

func TestTableWriteError(t *testing.T) {
	if err := Table(brokenPipe{}, nil); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

func TestWrap(t *testing.T) {
	cases := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"abcd", []string{"abcd"}},
		{"a  b\nc", []string{"a b", "c"}},
		{"ab abcd a", []string{"ab", "abcd", "a"}},
		{"abcdefghi x", []string{"abcd", "efgh", "i x"}},
		{"öö öö", []string{"öö", "öö"}},
	}
	for _, c := range cases {
		if got := wrap(c.text, 4); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}
