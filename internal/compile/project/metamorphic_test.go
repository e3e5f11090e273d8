package project

import (
	"testing"
	"strings"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

func TestGrow(t *testing.T) {
	frames, err := analyze.Frames(t.Context(), ".", "./testdata/src/random")
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]int{}
	ref := map[string]int{}
	for seed := range uint64(*loopCount) {
		src := grown(*seedFlag+seed)
		files := map[string][]byte{"random.go": src}
		if at, err := frames[0].Unused(files); err != nil || len(at) > 0 {
			t.Fatalf("seed %d: %v %v\n%s", seed, at, err, src)
		}
		s, err := frames[0].Source(files)
		if err != nil {
			t.Fatal(err)
		}
		if s.Graph == nil {
			for _, f := range s.Findings { if !f.Note { 
				if why[f.Code] == 0 { t.Errorf("seed %d: %v\n%s", seed, f, src) }
				why[f.Code]++ } }
			continue
		}
		r := Result{Graph: s.Graph}
		if err := r.generate(s.Source, standard(s.Graph)); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, src)
		}
		for _, x := range r.Refused {
			m := x.Problems[0].Error()
			m = m[strings.Index(m, ": ")+2:]
			if ref[m] == 0 { t.Logf("seed %d: %s: %v", seed, x.Grouping, x.Problems[0].Error()) }
			ref[m]++
		}
		for name, text := range r.Files {
			if strings.HasSuffix(name, ".go") && name != "gen_weft.go" {
				meets(t, name, text)
			}
		}
	}
	t.Log(why)
	t.Log(ref)
	t.Logf("%s", grown(*seedFlag))
}
