package progress

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// style is an ANSI attribute.
type style string

const (
	faint  style = "2"
	strong style = "1"
	done   style = "32" // green
)

// glyphs are the characters of a bar.
type glyphs struct{ full, half, rest string }

var (
	asciiGlyphs = glyphs{"=", ">", "-"}
	boxGlyphs   = glyphs{"━", "╸", "─"}
)

// screen is the terminal below which nothing else is written: the panel's
// lines, then the cursor at the start of the next one, where the message of a
// crash or the shell's prompt comes to stand.
type screen struct {
	columns func() int
	colour  bool
	glyphs  glyphs
	drawn   []int // widths of the lines now on the terminal
}

// newScreen returns nil if there is no terminal to draw on.
func newScreen(w io.Writer, columns func() int) *screen {
	if columns == nil {
		columns = terminalColumns(w)
	}
	if columns == nil {
		return nil
	}
	s := &screen{columns: columns, colour: os.Getenv("NO_COLOR") == "", glyphs: asciiGlyphs}
	if utf8Locale() {
		s.glyphs = boxGlyphs
	}
	return s
}

// terminalColumns asks w for its width; it is nil if w is no terminal or one
// that cannot move its cursor.
func terminalColumns(w io.Writer) func() int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil {
			return 0
		}
		return width
	}
}

// utf8Locale tells whether the locale promises that box characters arrive. The
// first of the variables that is set decides.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(os.Getenv(name)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return false
}

// width asks for the terminal's at each drawing, since windows change.
func (s *screen) width() int {
	if n := s.columns(); n > 0 {
		return n
	}
	return 80
}

// draw returns what puts note, if any, and then the panel in place of the
// panel drawn before. One column stays free: some terminals wrap after it.
func (s *screen) draw(note string, panel func(width int, g glyphs) []line) string {
	width := s.width()
	var b strings.Builder
	b.WriteString(s.home(width))
	if note != "" {
		b.WriteString(clearBelow + note)
	}
	b.WriteString(wrapOff)
	s.drawn = s.drawn[:0]
	for _, l := range panel(width-1, s.glyphs) {
		b.WriteString(s.render(l) + clearRight + "\n")
		s.drawn = append(s.drawn, l.width())
	}
	b.WriteString(wrapOn + clearBelow)
	return b.String()
}

// close returns what puts the last line in place of the panel.
func (s *screen) close(final func(width int) line) string {
	width := s.width()
	out := s.home(width) + clearBelow + s.render(final(width-1)) + "\n"
	s.drawn = nil
	return out
}

const (
	clearRight = "\x1b[K"
	clearBelow = "\x1b[J"
	wrapOff    = "\x1b[?7l" // the window may have become narrower since it was measured
	wrapOn     = "\x1b[?7h"
)

// home moves the cursor to the panel's first line. Most terminals have folded
// lines that a narrower window no longer holds.
func (s *screen) home(width int) string {
	rows := 0
	for _, w := range s.drawn {
		rows += max(1, (w+width-1)/width)
	}
	if rows == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r", rows)
}

func (s *screen) render(l line) string {
	if !s.colour {
		return l.text()
	}
	var b strings.Builder
	for _, sp := range l {
		if sp.style == "" || sp.text == "" {
			b.WriteString(sp.text)
		} else {
			b.WriteString("\x1b[" + string(sp.style) + "m" + sp.text + "\x1b[0m")
		}
	}
	return strings.TrimRight(b.String(), " ")
}
