package protocol

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What gRPC says becomes a sentence that says what to do.
func TestWords(t *testing.T) {
	c := &Client{Addresses: []string{"a:1", "b:2"}}
	for said, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: dial tcp a:1: connect: connection refused"`: "dial tcp a:1: connect: connection refused; nothing listens there: weft coordinator starts one",
		`connection error: desc = "transport: authentication handshake failed: x509: certificate \"x\""`:       `x509: certificate "x"; both sides need certificates of one authority, for the addresses that they are reached at`,
		`connection error: desc = "error reading server preface: EOF"`:                                         "error reading server preface: EOF; it may ask for certificates: --certs DIR names them",
		`connection error: desc = "error reading server preface: remote error: tls: bad certificate"`:          "error reading server preface: remote error: tls: bad certificate; it does not take this certificate, which may have been revoked or have ended: its log says why",
		`connection error: desc = "transport: write tcp a:1->b:2: write: broken pipe"`:                         "write tcp a:1->b:2: write: broken pipe; it ended the connection: its log says why",
		`connection error: desc = "broken`:                                                                     `connection error: desc = "broken`,
		"it has just started":                                                                                  "it has just started",
	} {
		if got := c.silent(status.Error(codes.Unavailable, said)).Error(); got != "coordinator a:1, b:2: "+want {
			t.Errorf("%s became %s", said, got)
		}
	}
	if got := c.silent(Elsewhere("c:3")).Error(); !strings.Contains(got, "is not to be reached") {
		t.Error(got)
	}
	if got := c.silent(errors.New("x")).Error(); got != "coordinator a:1, b:2: x" {
		t.Error(got)
	}
}

// Who waits for a coordinator is told why, once.
func TestWaiting(t *testing.T) {
	var told []string
	c := &Client{Addresses: []string{"127.0.0.1:1"}, Patience: 200 * time.Millisecond, Waiting: func(why error) { told = append(told, why.Error()) }}
	_, err := c.Status(t.Context(), "")
	if !errors.As(err, new(Away)) || len(told) != 1 || !strings.HasPrefix(err.Error(), told[0]) || !strings.Contains(told[0], "weft coordinator starts one") {
		t.Errorf("%v, after %q", err, told)
	}
}
