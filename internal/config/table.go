package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	lineWidth = 100 // of help and of YAML comments
	columnGap = "  "
)

// widest bounds the columns of the table before the last, so that one long name
// or default leaves the last at least a third of the line.
var widest = [...]int{32, 12, 16}

// Table prints fields as help: one row to a setting with its type, default and
// purpose, in aligned columns no wider than 100 characters in all.
func Table(w io.Writer, fields []Field) error {
	rows := [][]string{{"SETTING", "TYPE", "DEFAULT", "MEANING"}}
	for _, f := range fields {
		rows = append(rows, []string{f.Key, f.Kind, shown(f.Default), meaning(f)})
	}
	widths := columnWidths(rows)
	var b strings.Builder
	for _, row := range rows {
		writeRow(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shown makes a default visible that is empty or would not fit on a line.
func shown(text string) string {
	if text == "" || hasHidden(text) {
		return strconv.Quote(text)
	}
	return text
}

// meaning is what a setting is for, and which values it takes.
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
func columnWidths(rows [][]string) []int {
	widths := make([]int, len(widest)+1)
	left := lineWidth
	for i, bound := range widest {
		for _, row := range rows {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(row[i]), bound))
		}
		left -= widths[i] + len(columnGap)
	}
	widths[len(widest)] = left
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
