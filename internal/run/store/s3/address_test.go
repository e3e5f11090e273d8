package s3

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/store"
)

// TestAddress: keys in an address are refused wherever one is read, and not repeated.
func TestAddress(t *testing.T) {
	for place, want := range map[string]string{
		"s3://me:hidden@host/bucket":             "an address holds no keys",
		"s3://hidden@host/bucket/folder":         "an address holds no keys",
		"s3://host/bucket?secret_key=hidden":     `no setting "secret_key"`,
		"s3://me:hidden@ho st/bucket":            "invalid",
		"s3://me:hidden@host:port/bucket":        "invalid port",
		"s3://host":                              "names no host and bucket",
		"s3://host/bucket/folder?insecure=false": "",
	} {
		_, err := store.Open(place)
		_, other := store.Absolute(place)
		for _, err := range []error{err, other} {
			switch {
			case want == "" && (err == nil || strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID")):
			case want == "names no host and bucket" && err == nil: // Open says so
			case err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden"):
				t.Errorf("%s: %v, want %q", place, err, want)
			}
		}
	}
}
