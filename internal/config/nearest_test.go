package config

import (
	"math/rand/v2"
	"testing"
)

func TestNearest(t *testing.T) {
	keys := []string{"learning_rate", "gamma", "gae_lambda", "envs", "lr", "k", "net.hidden", "CartPole-v1", "Ant-v4", "ALE/Pong-v5"}
	cases := []struct{ word, want string }{
		{"learning_rat", "learning_rate"},
		{"laerning_rate", "learning_rate"},
		{"LearningRate", "learning_rate"},
		{"gama", "gamma"},
		{"lambda", "gae_lambda"},
		{"num_envs", "envs"},
		{"hidden", "net.hidden"},
		{"cartpole", "CartPole-v1"},
		{"CartPol", "CartPole-v1"},
		{"pong", "ALE/Pong-v5"},
		{"lr", "lr"},
		{"rl", "lr"},
		{"elephant", ""},
		{"entropy", ""},
		{"ab", ""},
		{"x", ""},
		{"", ""},
	}
	for _, c := range cases {
		if got, ok := Nearest(c.word, keys); got != c.want || ok != (c.want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", c.word, got, ok, c.want)
		}
	}
	if got, ok := Nearest("x", nil); ok {
		t.Errorf("nearest of nothing is %q", got)
	}
	if got, _ := Nearest("bat", []string{"cat", "hat"}); got != "cat" {
		t.Errorf("of two as near the first is not chosen but %q", got)
	}
}

func TestDistance(t *testing.T) {
	cases := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"ab", "ba", 1},
		{"ca", "abc", 2}, // swap, then insert between: 3 if a swap could not be edited
		{"kitten", "sitting", 3}, {"größe", "grösse", 2},
	}
	for _, c := range cases {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// TestDistanceIsMetric holds on random words what makes a distance one; the
// variant that forbids editing a swap fails the triangle inequality.
func TestDistanceIsMetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	word := func() []rune {
		w := make([]rune, rng.IntN(6))
		for i := range w {
			w[i] = rune('a' + rng.IntN(3))
		}
		return w
	}
	for range 5000 {
		a, b, c := word(), word(), word()
		ab, ba, bc, ac := distance(a, b), distance(b, a), distance(b, c), distance(a, c)
		if ab != ba || ac > ab+bc || (ab == 0) != (string(a) == string(b)) {
			t.Fatalf("%q %q %q: ab %d, ba %d, bc %d, ac %d", string(a), string(b), string(c), ab, ba, bc, ac)
		}
	}
}
