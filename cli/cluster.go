package cli

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// defaultCluster is where a coordinator listens, and is looked for.
const defaultCluster = "127.0.0.1:7700"

// credentials are the flags that name certificates.
type credentials struct {
	dir, ca, cert, key, revoked string
	keys                        *certs.Keys // once they are loaded; nil is none
	say                         func(text string)
}

func (f *credentials) flags(cmd *cobra.Command) {
	f.say = func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "weft: %s\n", text) }
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "certs", "", "`folder` with a certificate and its authority's, as weft certs makes them; by default, on loopback, this user's own")
	flags.StringVar(&f.ca, "ca", "", "`file` of the authority's certificate, instead of --certs")
	flags.StringVar(&f.cert, "cert", "", "`file` of this process's certificate")
	flags.StringVar(&f.key, "key", "", "`file` of the certificate's private key")
	flags.StringVar(&f.revoked, "revoked", "", "`file` of the certificates that the authority revoked; with --certs, ca.crl of that folder if it is there")
}

// load reads what was named; nil if nothing was.
func (f *credentials) load() (*tls.Config, error) {
	files := certs.Files{CA: f.ca, Cert: f.cert, Key: f.key, Revoked: f.revoked}
	var err error
	switch {
	case f.dir == "" && files == (certs.Files{}):
		return nil, nil
	case f.dir != "" && files == (certs.Files{}):
		files, err = certs.In(f.dir)
	case files.CA == "" || files.Cert == "" || files.Key == "":
		err = errors.New("--ca, --cert and --key must be given together; --revoked needs all three")
	}
	if err != nil {
		return nil, err
	}
	if f.keys, err = files.Open(); err != nil {
		return nil, err
	}
	return f.keys.TLS(), nil
}

// loadFor reads what was named; by default, for addresses that only this machine
// reaches, this user's own certificate. It is nil, and certs.Required says so, where
// one has to be named.
func (f *credentials) loadFor(addresses ...string) (*tls.Config, error) {
	c, err := f.load()
	if c != nil || err != nil || len(addresses) == 0 {
		return c, err
	}
	for _, a := range addresses {
		if err := certs.Required(a, nil); err != nil {
			return nil, err
		}
	}
	if f.keys, err = certs.Own(); err != nil {
		return nil, err
	}
	return f.keys.TLS(), nil
}

// warned tells the user of a client what is to be done about its certificate.
func (f *credentials) warned() {
	if f.keys == nil {
		return
	}
	if text := f.keys.Warning(time.Now()); text != "" {
		f.say(text)
	}
}

// clientFlags holds the flags of commands that speak with a coordinator.
type clientFlags struct {
	credentials
	addresses []string
}

func (f *clientFlags) flags(cmd *cobra.Command) {
	f.credentials.flags(cmd)
	cmd.Flags().StringSliceVar(&f.addresses, "cluster", []string{defaultCluster}, "`address` of the coordinator; several, separated by commas, if standbys run")
}

// jobs returns the job of the run that is named, or those of its seeds, unless a cluster is named.
func (f *clientFlags) jobs(cmd *cobra.Command, args []string) []runJob {
	if cmd.Flags().Changed("cluster") || len(args) != 1 {
		return nil
	}
	return jobsIn(args[0])
}

func (f *clientFlags) client() (*protocol.Client, error) {
	config, err := f.loadFor(f.addresses...)
	if err != nil {
		return nil, err
	}
	f.warned()
	return &protocol.Client{Addresses: f.addresses, TLS: config}, nil
}

// self returns the path of this program, which may have been removed since it started.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil && runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return path, nil
}

// binary returns the hash of this program.
func binary() (string, error) {
	path, err := self()
	if err != nil {
		return "", err
	}
	return hashFile(path)
}

// hashFile returns the hash of a program's file.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("this program's own file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
