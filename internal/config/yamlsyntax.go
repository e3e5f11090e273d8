package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// decode returns the root of the only document in data, or nil if there is none.
func decode(data []byte) (*yaml.Node, error) {
	if line := unreadable(data); line > 0 {
		return nil, fmt.Errorf("line %d: not text: the file must be UTF-8 without control characters", line)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := decoder.Decode(&more); err == nil {
		return nil, fmt.Errorf("line %d: a second document starts here; only one is read", more.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return doc.Content[0], nil
}

// unreadable returns the line of the first character that no YAML file may hold,
// or 0. The YAML package would refuse it too, but not say where it is.
func unreadable(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, width := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && width == 1, r == '\ufffe', r == '\uffff',
			unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r):
			return line
		case r == '\n':
			line++
		}
		data = data[width:]
	}
	return 0
}

var (
	lineError   = regexp.MustCompile(`^line (\d+): `)
	anchorError = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// locate parts an error of decode into the line it is on and what it says.
func locate(err error, data []byte) (line int, text string) {
	text = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := anchorError.FindStringSubmatch(text); m != nil {
		return aliasLine(data, m[1], err), fmt.Sprintf("alias *%s has no anchor &%[1]s before it", m[1])
	}
	if m := lineError.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		line, _ = strconv.Atoi(m[1])
	}
	// Some errors of the YAML package count lines from 0, and none tells of that
	// line. So if the file is sound up to and with this line, the next is meant.
	if _, err := decode(firstLines(data, line)); err == nil {
		line++
	}
	return line, text
}

func firstLines(data []byte, n int) []byte {
	end := 0
	for part := range bytes.Lines(data) {
		if n--; n < 0 {
			break
		}
		end += len(part)
	}
	return data[:end]
}

// aliasLine finds the alias to an anchor that is not there, whose line the YAML
// package does not tell: the file cut off after that line, and not before, has
// the same error.
func aliasLine(data []byte, name string, want error) int {
	line, end := 0, 0
	for part := range bytes.Lines(data) {
		line++
		end += len(part)
		if !bytes.Contains(part, []byte("*"+name)) {
			continue
		}
		if _, err := decode(data[:end]); err != nil && err.Error() == want.Error() {
			break
		}
	}
	return line
}
