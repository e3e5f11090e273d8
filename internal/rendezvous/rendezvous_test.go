package rendezvous

import (
	"fmt"
	"slices"
	"testing"
)

type (
	report = Report[int, string]
	record = Record[int]
)

// TestMerge: reports of replicas make the one that a single loop would.
func TestMerge(t *testing.T) {
	log := func(name string, x ...int) record { return record{name, x} }
	all := Merge([][]report{
		{
			{Steps: 10, Logs: []record{log("a", 1), log("a", 2)}, Episodes: []string{"1"}, Kinds: []string{"kind"}, Second: []Second[string]{{"other", []string{"3"}}}},
			{Steps: 10, Logs: []record{log("a", 3), log("a", 4), log("b")}, Episodes: []string{"2"}, Second: []Second[string]{{"other", []string{"4"}}}},
		},
		{{Steps: 0, Logs: []record{log("c", 5)}}},
	})
	var got []string
	for _, l := range all.Logs {
		got = append(got, fmt.Sprint(l.Name, l.X))
	}
	if want := []string{"a[1 3]", "a[2 4]", "b[]", "c[5]"}; !slices.Equal(got, want) {
		t.Errorf("logs %v, want %v", got, want)
	}
	if all.Steps != 10 || !slices.Equal(all.Episodes, []string{"1", "2"}) || !slices.Equal(all.Kinds, []string{"kind"}) {
		t.Errorf("%d steps, episodes %v of %v", all.Steps, all.Episodes, all.Kinds)
	}
	if len(all.Second) != 1 || !slices.Equal(all.Second[0].Episodes, []string{"3", "4"}) {
		t.Errorf("second environments: %v", all.Second)
	}
}
