package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	lineWidth = 100 // width of YAML comments
	columnGap = "  "
)

// Width is the most columns of help: those of a terminal of the usual size.
const Width = 80

// widest bounds the columns of the table before the last, so that one long name
// or default leaves the last at least a third of the line.
var widest = [...]int{24, 10, 12}

// Table prints fields as help: one row to a setting with its type, default and
// purpose, in aligned columns no wider than Width in all.
func Table(w io.Writer, fields []Field) error {
	rows := [][]string{{"SETTING", "TYPE", "DEFAULT", "MEANING"}}
	for _, f := range fields {
		rows = append(rows, []string{f.Key, f.Kind, shown(f.Default), meaning(f)})
	}
	return columns(w, rows, widest[:])
}

// Columns prints rows in aligned columns no wider than Width in all. The last column is folded; the
// others have the width of their longest cells. All rows have as many cells.
func Columns(w io.Writer, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	bounds := make([]int, len(rows[0])-1)
	for i := range bounds {
		bounds[i] = Width / 2
	}
	return columns(w, rows, bounds)
}

// ColumnsWithin does what Columns does, with a bound on the width of each column but the last.
func ColumnsWithin(w io.Writer, rows [][]string, bounds ...int) error {
	return columns(w, rows, bounds)
}

func columns(w io.Writer, rows [][]string, bounds []int) error {
	widths := columnWidths(rows, bounds)
	var b strings.Builder
	for _, row := range rows {
		writeRow(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Fold breaks a text into lines no wider than Width. Paragraphs, which an empty line divides, stay
// apart.
func Fold(text string) string {
	var out []string
	for part := range strings.SplitSeq(text, "\n\n") {
		out = append(out, strings.Join(wrap(part, Width), "\n"))
	}
	return strings.Join(out, "\n\n")
}

// shown makes a default visible that is empty or would not fit on a line.
func shown(text string) string {
	if text == "" || hasHidden(text) {
		return strconv.Quote(text)
	}
	return text
}

// meaning returns what a setting is for, and which values it takes.
func meaning(f Field) string {
	parts := []string{f.Doc}
	if f.Unit != "" {
		parts = append(parts, "unit "+f.Unit)
	}
	if f.Range != "" {
		parts = append(parts, "range "+f.Range)
	}
	if len(f.OneOf) > 0 {
		parts = append(parts, "one of "+strings.Join(f.OneOf, ", "))
	}
	return strings.Join(parts, "; ")
}

// columnWidths fits each column to its longest cell, within bounds, and gives
// the last what is left of the line.
func columnWidths(rows [][]string, bounds []int) []int {
	widths := make([]int, len(bounds)+1)
	left := Width
	for i, bound := range bounds {
		for _, row := range rows {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(row[i]), bound))
		}
		left -= widths[i] + len(columnGap)
	}
	widths[len(bounds)] = left
	return widths
}

// writeRow writes one row, on as many lines as its longest cell needs.
func writeRow(b *strings.Builder, cells []string, widths []int) {
	wrapped := make([][]string, len(cells))
	height := 0
	for i, cell := range cells {
		wrapped[i] = wrap(cell, widths[i])
		height = max(height, len(wrapped[i]))
	}
	for n := range height {
		var line strings.Builder
		for i, lines := range wrapped {
			text := ""
			if n < len(lines) {
				text = lines[n]
			}
			fmt.Fprintf(&line, "%-*s%s", widths[i], text, columnGap)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// wrap breaks text between words into lines of at most width characters, and
// within a word only if it is longer than a line.
func wrap(text string, width int) []string {
	var lines []string
	var line []rune
	for _, word := range strings.Fields(text) {
		next := []rune(word)
		if len(line) > 0 && len(line)+1+len(next) <= width {
			line = append(append(line, ' '), next...)
			continue
		}
		if len(line) > 0 {
			lines = append(lines, string(line))
		}
		for ; len(next) > width; next = next[width:] {
			lines = append(lines, string(next[:width]))
		}
		line = next
	}
	if len(line) > 0 {
		lines = append(lines, string(line))
	}
	return lines
}
