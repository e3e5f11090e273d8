package config

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Items takes a list apart that was written as one text, as [Assignment] has it.
func Items(text string) ([]string, error) { return splitList(text) }

// joinList writes items as one text that splitList takes apart again.
func joinList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = item
		if needsQuotes(item) {
			quoted[i] = strconv.Quote(item)
		}
	}
	return strings.Join(quoted, ",")
}

func needsQuotes(item string) bool {
	return item == "" || strings.ContainsAny(item, `,"`) || strings.TrimSpace(item) != item || hasHidden(item)
}

// hasHidden reports whether text would not look like itself on one line.
func hasHidden(text string) bool {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	return !utf8.ValidString(text) || strings.ContainsFunc(text, hidden)
}

// splitList takes apart a list: items between commas, blanks around them
// dropped, each bare or between double quotes with Go's escapes. Empty text is
// the empty list, so an empty item has to be quoted.
func splitList(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var items []string
	for {
		item, rest, err := firstItem(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		items = append(items, item)
		if rest == "" {
			return items, nil
		}
		text = rest[len(","):]
	}
}

// firstItem returns the first item of text, and the rest from the comma on.
func firstItem(text string) (item, rest string, err error) {
	if strings.HasPrefix(text, `"`) {
		return quotedItem(text)
	}
	if comma := strings.IndexByte(text, ','); comma >= 0 {
		text, rest = text[:comma], text[comma:]
	}
	item = strings.TrimSpace(text)
	if item == "" {
		return "", "", errors.New(`the list has an empty item; write "" for empty text`)
	}
	return item, rest, nil
}

func quotedItem(text string) (item, rest string, err error) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", errors.New(`the list has a quoted item that does not end, or has an unknown \ escape`)
	}
	rest = strings.TrimSpace(text[len(quoted):])
	if rest != "" && rest[0] != ',' {
		return "", "", errors.New("the list has an item that goes on after its closing quote; put a comma between items")
	}
	item, err = strconv.Unquote(quoted)
	return item, rest, err
}
