package certs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// soon is the time before its end at which a user's own certificate is replaced.
const soon = 30 * 24 * time.Hour

// Own returns the certificate by which the processes of one user know each other on one machine,
// made when it is first asked for. A process that listens on loopback can be reached by every user
// of the machine, and runs the code it is given: it accepts only callers that can read this user's
// files.
func Own() (*Keys, error) {
	home, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("there is no place for this user's certificate (%w): name one with --certs", err)
	}
	return own(filepath.Join(home, "weft", "loopback"))
}

// errEnds is the error of a certificate that is to be replaced.
var errEnds = errors.New("its certificate ends, or names no role")

func own(dir string) (*Keys, error) {
	k, err := owned(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errEnds) {
		if err = replace(dir); err == nil {
			k, err = owned(dir)
		}
	}
	return k, err
}

// owned reads the certificate in dir, which nobody else may be able to read or to
// change. One that ends soon, or
// names no role, is as good as none.
func owned(dir string) (*Keys, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || !private(info) {
		return nil, fmt.Errorf("%s holds the secret of this user's processes, and others may get at it: remove it, and another is made", dir)
	}
	f, err := In(dir)
	if err != nil {
		return nil, err
	}
	k, err := f.Open()
	if err != nil {
		return nil, err
	}
	if time.Until(k.now.pair.Leaf.NotAfter) < soon || len(k.holder().Roles) == 0 {
		return nil, fmt.Errorf("%s: %w", dir, errEnds)
	}
	k.renew = "the next weft command of this user makes another, and it is taken over"
	return k, nil
}

// replace makes an authority and a certificate in dir, in one step: of several
// processes that do so at once one prevails, and all have its certificate.
func replace(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	made, err := os.MkdirTemp(filepath.Dir(dir), ".loopback-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made) // what is left of it
	if _, err := Household(made); err != nil {
		return err
	}
	if _, err := owned(dir); errors.Is(err, errEnds) { // and nobody was faster
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.Rename(made, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, other := owned(dir); other != nil {
			return err
		}
	}
	return nil
}

// Anywhere is the host of a certificate that all processes of a household have, and no other: where
// its holder is tells them nothing, and may be a machine that was not there when it was made.
const Anywhere = "anywhere.weft"

// expects returns the host that the certificate of a server must be for. It is empty where that is
// the one that was dialled.
func (l *loaded) expects() string {
	if slices.Contains(l.pair.Leaf.DNSNames, Anywhere) {
		return Anywhere
	}
	return ""
}

// Household makes an authority in dir, and a certificate of it for loopback and further hosts.
func Household(dir string, hosts ...string) (Files, error) {
	if err := Init(dir); err != nil {
		return Files{}, err
	}
	f, err := Issue(dir, "loopback", Roles(), hosts...)
	if err != nil {
		return f, err
	}
	// It issues no other.
	return f, errors.Join(os.Remove(filepath.Join(dir, authority+".key")), os.Remove(filepath.Join(dir, issuedFile)))
}
