// Package nash solves matrix games: two players choose a row and a column at the same time, and the
// column's player pays the row's what the matrix says.
package nash

import "math"

// Game is an equilibrium of a matrix game.
type Game struct {
	Row, Col []float64 // probabilities of the rows and of the columns
	Value    float64   // expected payment to the row's player
}

// tiny is the size below which a number of the tableau counts as 0.
const tiny = 1e-11

// Solve returns an equilibrium of a matrix of payments, which has at least one row and one column
// of finite numbers. Equal matrices have equal bits as their equilibrium.
//
// It is the simplex method on the column player's linear program, the greatest sum of y with
// Ay <= 1 and y >= 0 where A is the matrix raised until all of its numbers are positive (Dantzig,
// 1951). Bland's rule chooses pivots, so that it ends.
func Solve(a [][]float64) Game {
	t := newTableau(a)
	for {
		col := t.entering()
		if col < 0 {
			return t.game()
		}
		t.pivot(t.leaving(col), col)
	}
}

// tableau is the program in a basis. Columns are those of y, a slack for each row of the matrix,
// and the right-hand side; the last row is the objective.
type tableau struct {
	m, n  int // rows and columns of the matrix
	raise float64
	x     [][]float64
	basis []int // variable of each row
}

func newTableau(a [][]float64) *tableau {
	t := &tableau{m: len(a), n: len(a[0])}
	least := math.Inf(1)
	for _, row := range a {
		for _, v := range row {
			least = min(least, v)
		}
	}
	t.raise = 1 - least
	t.x = make([][]float64, t.m+1)
	for i := range t.x {
		t.x[i] = make([]float64, t.n+t.m+1)
	}
	for i, row := range a {
		for j, v := range row {
			t.x[i][j] = v + t.raise
		}
		t.x[i][t.n+i], t.x[i][t.n+t.m] = 1, 1
		t.basis = append(t.basis, t.n+i)
	}
	for j := range t.n {
		t.x[t.m][j] = -1
	}
	return t
}

// entering returns the first variable that improves the objective, or -1.
func (t *tableau) entering() int {
	for j := range t.n + t.m {
		if t.x[t.m][j] < -tiny {
			return j
		}
	}
	return -1
}

// leaving returns the row that bounds a variable most, of several the one whose variable is first.
func (t *tableau) leaving(col int) int {
	at, least := -1, math.Inf(1)
	for i := range t.m {
		if t.x[i][col] <= tiny {
			continue
		}
		ratio := t.x[i][t.n+t.m] / t.x[i][col]
		if ratio < least-tiny || ratio < least+tiny && t.basis[i] < t.basis[at] {
			at, least = i, min(least, ratio)
		}
	}
	return at
}

// pivot brings a variable into the basis.
func (t *tableau) pivot(row, col int) {
	t.basis[row] = col
	p := t.x[row][col]
	for j := range t.x[row] {
		t.x[row][j] /= p
	}
	for i, r := range t.x {
		if f := r[col]; i != row && f != 0 {
			for j := range r {
				r[j] -= f * t.x[row][j]
			}
		}
	}
}

// game returns the equilibrium of the last basis: y is the column's, and the prices of the slacks
// are the row's.
func (t *tableau) game() Game {
	g := Game{Row: make([]float64, t.m), Col: make([]float64, t.n)}
	for i, v := range t.basis {
		if v < t.n {
			g.Col[v] = t.x[i][t.n+t.m]
		}
	}
	copy(g.Row, t.x[t.m][t.n:t.n+t.m])
	sum := normalise(g.Col)
	normalise(g.Row)
	g.Value = 1/sum - t.raise
	return g
}

// normalise makes numbers of one sum 1, those below 0 by rounding 0, and returns the sum.
func normalise(x []float64) (sum float64) {
	for i, v := range x {
		x[i] = max(0, v)
		sum += x[i]
	}
	for i := range x {
		x[i] /= sum
	}
	return sum
}
