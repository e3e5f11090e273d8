package kernel

// Adam is one step's scalars. The update of each element is, every operation rounded on its own:
//
//	m = Beta1*m + (1-Beta1)*g
//	v = Beta2*v + (1-Beta2)*(g*g)
//	w = w - (LR*(m*Debias1)) / (sqrt(v*Debias2) + Eps)
//
// with 1-Beta rounded to float32 first. Debias1 is 1/(1-Beta1**t) and Debias2 is 1/(1-Beta2**t) at step t.
type Adam struct {
	Beta1, Beta2, Debias1, Debias2, LR, Eps float32
}

// Step updates weights w and moments m and v by gradient g, for as many elements as all have.
func (a *Adam) Step(w, m, v, g []float32) {
	n := min(len(w), len(m), len(v), len(g))
	cur.adam(w[:n], m[:n], v[:n], g[:n], a.Beta1, 1-a.Beta1, a.Beta2, 1-a.Beta2, a.Debias1, a.Debias2, a.LR, a.Eps)
}
