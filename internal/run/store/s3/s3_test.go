package s3

import (
	"cmp"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/store/storetest"
)

func TestStore(t *testing.T) {
	for name, test := range map[string]func(*testing.T, store.Store){"contract": storetest.Contract, "names": storetest.Names, "whole": storetest.Whole} {
		t.Run(name, func(t *testing.T) {
			s, _ := serve(t)
			test(t, s)
		})
	}
}

func TestRefused(t *testing.T) {
	s, f := serve(t)
	f.broken = true
	if err := s.Put(t.Context(), "x", strings.NewReader("y"), 1); err == nil || !strings.Contains(err.Error(), "bucket: x") {
		t.Error(err)
	}
	for _, place := range []string{"s3://", "s3://host", "s3:///bucket", "s3://a b/c"} {
		if _, err := store.Open(place); err == nil {
			t.Errorf("%s was opened", place)
		}
	}
}

// The region that requests are signed for is the environment's, or the server's.
func TestRegion(t *testing.T) {
	for _, region := range []string{"", "eu-north-9"} {
		t.Setenv("AWS_REGION", region)
		s, f := serve(t)
		storetest.Put(t, s, "x", []byte("y"))
		if want := cmp.Or(region, "us-east-1"); !strings.Contains(f.signed, "/"+want+"/s3/") {
			t.Errorf("signed with %s, want %s", f.signed, want)
		}
	}
}
