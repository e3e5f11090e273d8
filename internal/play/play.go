// Package play lets a person play a game against a policy over lines of text, and two policies play
// a match.
package play

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/env/game"
)

// Bot is the policy that has the other seat.
type Bot interface {
	// Begin begins a game.
	Begin()
	// Move returns the action of the seat to move.
	Move(position []float32) (Move, error)
}

// Move is an action with what led to it. Fields that a policy cannot fill are nil.
type Move struct {
	Action int
	Policy []float64 // shares of the actions
	Value  []float64 // expected return, one number
}

// Table is a place to play.
type Table struct {
	Game game.Game
	Bot  Bot
	In   io.Reader
	Out  io.Writer
}

// Check returns an error if the game cannot be played here.
func (t *Table) Check() error {
	if r := t.Game.Rules(); r.Hidden || r.Planes == nil {
		return fmt.Errorf("%s has cards that one player must not see: only games on boards can be played in a terminal", r.Name)
	}
	return nil
}

// Play plays games until the input ends or the person quits. The person has the given seat in the
// first game, and the seats change from game to game.
func (t *Table) Play(seat int) error {
	lines := bufio.NewScanner(t.In)
	for {
		more, err := t.one(lines, seat)
		if err != nil || !more {
			return cmp.Or(err, lines.Err())
		}
		fmt.Fprintln(t.Out, "another game: you have the other side now")
		seat = 1 - seat
	}
}

// one plays a game; more is false if the person has left.
func (t *Table) one(lines *bufio.Scanner, seat int) (more bool, err error) {
	position := slices.Clone(t.Game.Rules().Starts[0])
	t.Bot.Begin()
	fmt.Fprintf(t.Out, "you are %s; type the number of a move, or q to quit\n\n%s", side(seat), t.board(position))
	for position[game.OverAt] == 0 {
		if int(position[game.SeatAt]) != seat {
			if err := t.answer(position); err != nil {
				return false, err
			}
			continue
		}
		action, ok := t.ask(lines, position)
		if !ok {
			fmt.Fprintln(t.Out, "bye")
			return false, nil
		}
		t.Game.Host().Play(position, action)
	}
	result := position[game.ReturnAt] * float32(1-2*seat)
	fmt.Fprintf(t.Out, "\n%s%s\n", t.board(position), map[float32]string{1: "you win", 0: "a draw", -1: "you lose"}[result])
	return true, nil
}

// side names a seat by its stones.
func side(seat int) string { return []string{"X, who moves first", "O"}[seat] }

// answer makes the policy's move.
func (t *Table) answer(position []float32) error {
	m, err := t.Bot.Move(position)
	if err != nil {
		return err
	}
	stone := "XO"[int(position[game.SeatAt])]
	t.Game.Host().Play(position, m.Action)
	fmt.Fprintf(t.Out, "\n%c plays %d%s\n", stone, m.Action+1, m.why())
	if position[game.OverAt] == 0 {
		fmt.Fprintf(t.Out, "\n%s", t.board(position))
	}
	return nil
}

// shown is how many actions of a policy are shown.
const shown = 4

// why returns the policy and the value as text.
func (m Move) why() string {
	var parts []string
	if len(m.Value) > 0 {
		parts = append(parts, fmt.Sprintf("expects %+.2f", m.Value[0]))
	}
	order := make([]int, len(m.Policy))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.Policy[b], m.Policy[a]) })
	for _, a := range order[:min(shown, len(order))] {
		if m.Policy[a] >= .005 {
			parts = append(parts, fmt.Sprintf("%d: %.0f%%", a+1, 100*m.Policy[a]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// ask reads moves until one is legal; ok is false if the input ended or the person quits.
func (t *Table) ask(lines *bufio.Scanner, position []float32) (action int, ok bool) {
	legal := make([]bool, t.Game.Rules().Actions)
	t.Game.Host().Legal(position, legal)
	for {
		fmt.Fprint(t.Out, "your move: ")
		if !lines.Scan() {
			fmt.Fprintln(t.Out)
			return 0, false
		}
		text := strings.TrimSpace(lines.Text())
		if strings.EqualFold(text, "q") {
			return 0, false
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(legal) && legal[n-1] {
			return n - 1, true
		}
		fmt.Fprintf(t.Out, "%q is not a legal move: choose from %s\n", text, choices(legal))
	}
}

// choices returns the numbers of legal actions.
func choices(legal []bool) string {
	var out []string
	for a, ok := range legal {
		if ok {
			out = append(out, strconv.Itoa(a+1))
		}
	}
	return strings.Join(out, " ")
}

// board returns a position with the numbers of moves: below columns, if there is a move for each,
// else on empty fields.
func (t *Table) board(position []float32) string {
	r, text := t.Game.Rules(), t.Game.Host().Text(position)
	columns := r.Planes[1]
	var b strings.Builder
	if r.Actions == columns {
		b.WriteString(text)
		for c := range columns {
			b.WriteByte(byte('1' + c%9))
		}
		b.WriteByte('\n')
		return b.String()
	}
	field := 0
	for _, x := range text {
		if x != '\n' {
			if field++; x == '.' && r.Actions <= 9 {
				x = rune('0' + field)
			}
		}
		b.WriteRune(x)
	}
	return b.String()
}
