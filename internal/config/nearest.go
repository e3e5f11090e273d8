package config

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Nearest returns the candidate that word was probably meant to be: the one
// fewest edits away, upper and lower case alike, the first of several. It returns
// false if none is close enough for the suggestion to help. Close is about an edit
// in every four letters; or one of the two is a whole word of the other, as
// "lambda" is of "gae_lambda" and "cartpole" of "CartPole-v1"; or word is how the
// candidate begins.
func Nearest(word string, candidates []string) (string, bool) {
	folded := strings.ToLower(word)
	nearest, best := "", -1
	for _, candidate := range candidates {
		other := strings.ToLower(candidate)
		d := distance([]rune(folded), []rune(other))
		if (best < 0 || d < best) && near(folded, other, d) {
			nearest, best = candidate, d
		}
	}
	return nearest, best >= 0
}

// minWord is the fewest letters that a shared word must have to say anything.
const minWord = 3

func near(a, b string, distance int) bool {
	length := max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	few := distance <= 1+(length-1)/4 && distance < length // something must be left of the word
	begun := utf8.RuneCountInString(a) >= minWord && strings.HasPrefix(b, a)
	return few || begun || hasWord(a, b) || hasWord(b, a)
}

// hasWord reports whether word stands in text between characters that are no
// letters or digits.
func hasWord(text, word string) bool {
	if utf8.RuneCountInString(word) < minWord {
		return false
	}
	whole := `(^|[^\pL\pN])` + regexp.QuoteMeta(word) + `($|[^\pL\pN])`
	found, err := regexp.MatchString(whole, text)
	return found && err == nil
}

// distance returns the distance of Damerau and Levenshtein: the fewest insertions, deletions,
// substitutions and swaps of neighbours that turn a into b. It is the full distance, which lets the
// letters of a swap be edited further.
func distance(a, b []rune) int {
	far := len(a) + len(b)
	// d[i+1][j+1] is the distance of a[:i] from b[:j]; the border before it
	// holds what no path may use.
	d := make([][]int, len(a)+2)
	for i := range d {
		d[i] = make([]int, len(b)+2)
		d[i][0], d[i][1] = far, max(i-1, 0)
	}
	for j := range d[0] {
		d[0][j], d[1][j] = far, max(j-1, 0)
	}
	d[1][0] = far
	lastRow := map[rune]int{} // the last row of a that held a letter
	for i := 1; i <= len(a); i++ {
		lastColumn := 0 // the last column of this row that matched
		for j := 1; j <= len(b); j++ {
			row, column := lastRow[b[j-1]], lastColumn
			cost := 1
			if a[i-1] == b[j-1] {
				cost, lastColumn = 0, j
			}
			swap := d[row][column] + (i - row - 1) + 1 + (j - column - 1)
			d[i+1][j+1] = min(d[i][j]+cost, d[i+1][j]+1, d[i][j+1]+1, swap)
		}
		lastRow[a[i-1]] = i
	}
	return d[len(a)+1][len(b)+1]
}
