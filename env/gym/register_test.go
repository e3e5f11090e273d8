package gym

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
)

// An installed package registers the environments of its namespace when one of them is named.
func TestNamespaceOfPackage(t *testing.T) {
	needs(t)
	t.Parallel()
	open := func(id string) (env.Batch, error) {
		e, err := Entry(id)
		if err != nil {
			t.Fatal(err)
		}
		return env.Open(newScope(t, 1), e, 1, e.Options())
	}
	b, err := open("WeftLand/Base-v0")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.Spec().Obs.String(), "Box(0..1000, [2])"; got != want {
		t.Errorf("observations %s, want %s", got, want)
	}
	if _, err := open("WeftSea/Base-v0"); err == nil || !strings.Contains(err.Error(), "Namespace WeftSea not found") {
		t.Errorf("a namespace that no package offers: %v", err)
	}
}
