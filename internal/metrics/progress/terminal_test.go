package progress

import (
	"fmt"
	"regexp"
	"strings"
)

// terminal is as much of a terminal, wide enough for anything, as a screen
// makes use of.
type terminal struct {
	rows     [][]rune
	row, col int
}

var token = regexp.MustCompile(`\x1b\[\??([0-9]*)([A-Za-z])|(?s:.)`)

func (t *terminal) Write(b []byte) (int, error) {
	for _, m := range token.FindAllStringSubmatch(string(b), -1) {
		switch {
		case m[2] != "":
			t.control(m[1], m[2])
		case m[0] == "\r":
			t.col = 0
		case m[0] == "\n":
			t.row, t.col = t.row+1, 0
			t.grow()
		default:
			t.put([]rune(m[0])[0])
		}
	}
	return len(b), nil
}

func (t *terminal) control(arg, name string) {
	t.grow()
	switch name {
	case "A":
		n := 1
		fmt.Sscan(arg, &n)
		t.row -= n
	case "K":
		t.rows[t.row] = t.rows[t.row][:min(t.col, len(t.rows[t.row]))]
	case "J":
		t.rows[t.row] = t.rows[t.row][:min(t.col, len(t.rows[t.row]))]
		t.rows = t.rows[:t.row+1]
	case "h", "l", "m":
	default:
		panic("terminal: unknown control sequence " + name)
	}
}

func (t *terminal) grow() {
	for len(t.rows) <= t.row {
		t.rows = append(t.rows, nil)
	}
}

func (t *terminal) put(r rune) {
	t.grow()
	for len(t.rows[t.row]) <= t.col {
		t.rows[t.row] = append(t.rows[t.row], ' ')
	}
	t.rows[t.row][t.col] = r
	t.col++
}

func (t *terminal) String() string {
	var b strings.Builder
	for i, r := range t.rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(string(r))
	}
	return b.String()
}
