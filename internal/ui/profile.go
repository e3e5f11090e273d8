package ui

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path"

	"github.com/weft-rl/weft/internal/profile"
)

// profileFile is the profile of a run that was trained with --profile.
const profileFile = "profile.json"

// mostProfile bounds the bytes of a profile that is read.
const mostProfile = 64 << 20

// profileForms are the forms in which a profile is shown, by name, with their content types.
var profileForms = map[string]struct {
	kind  string
	write func(*profile.Profile, io.Writer) error
}{
	"bars":     {"image/svg+xml", (*profile.Profile).WriteSVG},
	"timeline": {"image/svg+xml", (*profile.Profile).WriteTimeline},
	"text":     {"text/plain; charset=utf-8", (*profile.Profile).Print},
	"trace":    {"application/json", (*profile.Profile).WriteTrace},
}

// profileOf answers with the profile of a run: as=bars, timeline, text or trace.
func (s *Site) profileOf(w http.ResponseWriter, q *http.Request) {
	x := s.asked(w, q)
	if x == nil {
		return
	}
	form, ok := profileForms[q.URL.Query().Get("as")]
	if !ok {
		fail(w, http.StatusBadRequest, fmt.Errorf("as: a profile is shown as bars, timeline, text or trace"))
		return
	}
	var b bytes.Buffer
	p, err := s.profile(x)
	if err == nil {
		err = form.write(p, &b)
	}
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	w.Header().Set("Content-Type", form.kind)
	if form.kind == "application/json" {
		w.Header().Set("Content-Disposition", `attachment; filename="timeline.json"`)
	}
	_, _ = w.Write(b.Bytes()) // a client that has left
}

// profile reads the profile of a run.
func (s *Site) profile(x *run) (*profile.Profile, error) {
	f, err := s.roots[x.root].Open(path.Join(x.dir, profileFile))
	if err != nil {
		return nil, fmt.Errorf("run %s was trained without --profile, or has not ended", x.Name)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostProfile))
	if err != nil {
		return nil, err
	}
	return profile.Read(text)
}
