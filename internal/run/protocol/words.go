package protocol

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/plain"
)

// said returns an error without gRPC's words.
func said(err error) error {
	s, ok := status.FromError(err)
	if !ok || s.Message() == "" {
		return err
	}
	return errors.New(plain.Text(bare(s.Message())))
}

// bare returns what a connection failed with, of which gRPC makes a quoted description.
func bare(text string) string {
	const described = "connection error: desc = "
	if before, quoted, found := strings.Cut(text, described); found {
		if inner, err := strconv.Unquote(quoted); err == nil {
			text = before + inner
		}
	}
	for _, words := range []string{"transport: Error while dialing: ", "transport: authentication handshake failed: ", "transport: "} {
		text = strings.Replace(text, words, "", 1)
	}
	return text
}

// silent says that no coordinator acts, why, and what can be done about it.
func (c *Client) silent(err error) error {
	text := said(err).Error()
	if _, hint := leader(err); hint {
		text = "it does not act, and the one that does is not to be reached"
	}
	if what := advice(text); what != "" {
		text += "; " + what
	}
	return fmt.Errorf("coordinator %s: %s", strings.Join(c.Addresses, ", "), text)
}

// advice returns what can be done about a connection that failed, if that is known.
func advice(text string) string {
	for _, x := range [][2]string{
		{"connection refused", "nothing listens there: weft coordinator starts one"},
		{"first record does not look like a TLS", "it is without TLS: leave the certificates away"},
		{"unknown authority", "it is another user's, or was started with other certificates: --certs DIR names those"},
		{"bad certificate", "it does not take this certificate, which may have been revoked or have ended: its log says why"},
		{"certificate", "both sides need certificates of one authority, for the addresses that they are reached at"},
		{"server preface", "it may ask for certificates: --certs DIR names them"},
		{"broken pipe", "it ended the connection: its log says why"},
		{"connection reset", "it ended the connection: its log says why"},
	} {
		if strings.Contains(text, x[0]) {
			return x[1]
		}
	}
	return ""
}
