package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"slices"
	"strings"
)

// Role is something that the holder of a certificate may do in a cluster.
type Role string

// The roles. Whoever may submit runs may also read about them.
const (
	Coordinate Role = "coordinate" // answer workers and clients
	Work       Role = "work"       // join a coordinator, and carry out parts of runs
	Submit     Role = "submit"     // submit, stop and delete runs
	Read       Role = "read"       // see runs, workers and logs
)

// Roles returns all roles.
func Roles() []Role { return []Role{Coordinate, Work, Submit, Read} }

// unit begins the organisational units of a certificate's subject that name roles.
const unit = "weft:"

// Subject returns the subject of a certificate whose holder has some roles.
func Subject(name string, roles ...Role) pkix.Name {
	s := pkix.Name{CommonName: name}
	for _, r := range roles {
		s.OrganizationalUnit = append(s.OrganizationalUnit, unit+string(r))
	}
	return s
}

// ParseRoles returns the roles of some names.
func ParseRoles(names []string) (out []Role, err error) {
	for _, name := range names {
		r := Role(strings.TrimSpace(name))
		if !slices.Contains(Roles(), r) {
			return nil, fmt.Errorf("%q is no role: there are %s", name, list(Roles()))
		}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("a certificate without a role is good for nothing: there are %s", list(Roles()))
	}
	return out, nil
}

func list(roles []Role) string {
	if len(roles) == 0 {
		return "none"
	}
	var names []string
	for _, r := range roles {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// Holder identifies the holder of a certificate. Its fields come from the certificate and are not
// trusted.
type Holder struct {
	Name   string
	Serial string // number of the certificate, in hexadecimal
	Roles  []Role
}

// HolderOf returns the holder of a certificate. One that names no role has none.
func HolderOf(c *x509.Certificate) Holder {
	h := Holder{Name: c.Subject.CommonName, Serial: c.SerialNumber.Text(16)}
	if h.Name == "" {
		h.Name = "serial-" + h.Serial
	}
	for _, u := range c.Subject.OrganizationalUnit {
		if name, ok := strings.CutPrefix(u, unit); ok && slices.Contains(Roles(), Role(name)) {
			h.Roles = append(h.Roles, Role(name))
		}
	}
	return h
}

// May reports whether the holder has a role.
func (h Holder) May(r Role) bool {
	return slices.Contains(h.Roles, r) || r == Read && slices.Contains(h.Roles, Submit)
}

// Needs returns the error of a holder that lacks a role.
func (h Holder) Needs(r Role) error {
	return fmt.Errorf("the certificate of %q has the roles: %s, and this takes %s: weft certs issue NAME --role %s makes one", h.Name, list(h.Roles), r, r)
}
