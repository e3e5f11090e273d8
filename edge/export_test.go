package edge

import "github.com/weft-rl/weft/rl"

// GradientOf returns a gradient as it crosses.
func GradientOf(g rl.Grads, weight rl.Tensor, sums []rl.Tensor) any {
	return gradient{rl.System.GradsOf(g), weight, sums}
}

// Detach returns detach.
func Detach[T any](v T) T { return detach(v) }

// Limiter is a limiter without a replica.
type Limiter struct{ *limiter }

// NewLimiter returns the limiter of a store.
func NewLimiter(to Limit, of rl.Metered) *Limiter {
	return &Limiter{newLimiter(to, "", of)}
}

// Note returns after note.
func (l *Limiter) Note(sessions int) { l.note(sessions) }

// Bounds returns bounds.
func (l *Limiter) Bounds(k int) (least, most int) { return l.bounds(k) }

// Ahead returns ahead.
func (l *Limiter) Ahead() float64 { return l.ahead() }

// Begun returns begun.
func (l *Limiter) Begun() bool { return l.begun }

// PerInsert returns perInsert.
func (l *Limiter) PerInsert() (float64, bool) { return l.perInsert() }
