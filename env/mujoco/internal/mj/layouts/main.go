// Command layouts adds versions of MuJoCo to the table of package mj:
//
//	go run ./layouts layouts.tsv INCLUDE...
//
// An INCLUDE is a folder that holds mujoco/mujoco.h, such as /usr/include with
// Debian's libmujoco-dev, or mujoco/include of a Python package. The rows of the
// table say which fields are wanted; a C compiler says where they are.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: layouts TABLE INCLUDE...")
		os.Exit(2)
	}
	if err := update(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "layouts:", err)
		os.Exit(1)
	}
}

// table is fields by versions: a header of versions, and a line for each field.
type table struct {
	comment  []string
	versions []string
	fields   []string
	at       map[string]map[string]string // offsets, by version and field
}

// none stands where a version has no such field.
const none = "-"

func update(file string, includes []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	t, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, include := range includes {
		version, column, err := measure(include, t.fields)
		if err != nil {
			return fmt.Errorf("%s: %w", include, err)
		}
		if t.at[version] == nil {
			t.versions = append(t.versions, version)
		}
		t.at[version] = column
	}
	slices.SortFunc(t.versions, compareVersions)
	return os.WriteFile(file, []byte(t.String()), 0o644)
}

func parse(text string) (*table, error) {
	t := &table{at: map[string]map[string]string{}}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
			t.comment = append(t.comment, line)
		case cells[0] == "field":
			for _, v := range cells[1:] {
				t.versions, t.at[v] = append(t.versions, v), map[string]string{}
			}
		case len(cells) != len(t.versions)+1:
			return nil, fmt.Errorf("row %s has %d numbers for %d versions", cells[0], len(cells)-1, len(t.versions))
		default:
			t.fields = append(t.fields, cells[0])
			for i, v := range t.versions {
				t.at[v][cells[0]] = cells[i+1]
			}
		}
	}
	if len(t.fields) == 0 {
		return nil, errors.New("there are no fields in it")
	}
	return t, nil
}

func (t *table) String() string {
	var b strings.Builder
	b.WriteString(strings.Join(t.comment, ""))
	row := func(first string, cell func(version string) string) {
		b.WriteString(first)
		for _, v := range t.versions {
			b.WriteString("\t" + cell(v))
		}
		b.WriteString("\n")
	}
	row("field", func(v string) string { return v })
	for _, f := range t.fields {
		row(f, func(v string) string { return t.at[v][f] })
	}
	return b.String()
}

// measure asks the C compiler where the fields are under one version's headers.
func measure(include string, fields []string) (version string, column map[string]string, err error) {
	headers, err := read(include)
	if err != nil {
		return "", nil, err
	}
	folder, err := os.MkdirTemp("", "layouts")
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(folder)
	source, program := filepath.Join(folder, "at.c"), filepath.Join(folder, "at")
	if err := os.WriteFile(source, question(headers, fields), 0o600); err != nil {
		return "", nil, err
	}
	if out, err := exec.Command(cmp.Or(os.Getenv("CC"), "cc"), "-I", include, "-o", program, source).CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("%w: %s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		return "", nil, err
	}
	return answer(string(out))
}

// read returns the text of all headers.
func read(include string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(include, "mujoco", "*.h"))
	if err == nil && len(files) == 0 {
		err = errors.New("it holds no mujoco/mujoco.h")
	}
	var all bytes.Buffer
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		all.Write(text)
	}
	return all.Bytes(), err
}

// question returns a program that prints the version and a line for every field. Those
// that the headers do not mention are not asked for.
func question(headers []byte, fields []string) []byte {
	var b bytes.Buffer
	b.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <mujoco/mujoco.h>\nint main(void) {\n\tprintf(\"%d\\n\", mjVERSION_HEADER);\n")
	for _, f := range fields {
		kind, name, _ := strings.Cut(f, ".")
		if regexp.MustCompile(`\b` + name[strings.LastIndex(name, ".")+1:] + `\b`).Match(headers) {
			fmt.Fprintf(&b, "\tprintf(\"%s %%zu\\n\", offsetof(%s, %s));\n", f, kind, name)
		} else {
			fmt.Fprintf(&b, "\tprintf(\"%s %s\\n\");\n", f, none)
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func answer(text string) (version string, column map[string]string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	number, err := strconv.Atoi(first)
	if err != nil {
		return "", nil, err
	}
	column = map[string]string{}
	for line := range strings.Lines(rest) {
		field, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		column[field] = at
	}
	return versionOf(number), column, nil
}

// versionOf returns the text of a version's number, in which each part has a digit in
// old versions, and three in new ones.
func versionOf(n int) string {
	base := 10
	if n >= 1000 {
		base = 1000
	}
	return fmt.Sprintf("%d.%d.%d", n/base/base, n/base%base, n%base)
}

func compareVersions(a, b string) int {
	return slices.Compare(numbers(a), numbers(b))
}

func numbers(version string) (out []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // what is not a number comes first
		out = append(out, n)
	}
	return out
}
