package journal_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/journal"
)

// TestText writes a date, a level and what a line is about.
func TestText(t *testing.T) {
	var out bytes.Buffer
	log := journal.New(&out, journal.Text, "coordinator")
	log.Warn("its lease is over\nat once", journal.Worker, "a")
	log.With(journal.Run, "mine").Info("submitted", "by", "ann")
	log.Debug("nobody wants to know")
	want := `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d) WARN  coordinator: worker a: its lease is over\n\tat once\n` +
		`\d{4}-\S+ INFO  coordinator: run mine: submitted by=ann\n$`
	if !regexp.MustCompile(want).MatchString(out.String()) {
		t.Errorf("%q", out.String())
	}
}

// TestJSON writes an object a line, with the same to be found in it.
func TestJSON(t *testing.T) {
	var out bytes.Buffer
	journal.New(&out, journal.JSON, "worker").Info("submitted", journal.Run, "mine", journal.Worker, "a")
	var e struct {
		Time                             time.Time
		Level, Msg, Process, Run, Worker string
	}
	if err := json.Unmarshal(out.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	if e.Time.IsZero() || e.Level != "INFO" || e.Msg != "submitted" || e.Process != "worker" || e.Run != "mine" || e.Worker != "a" {
		t.Errorf("%s", out.Bytes())
	}
}

// TestEvents writes the notes of other commands.
func TestEvents(t *testing.T) {
	var out bytes.Buffer
	journal.New(&out, journal.Events, "worker").Info("submitted", journal.Run, "mine")
	if out.String() != `{"event":"note","text":"run mine: submitted"}`+"\n" {
		t.Errorf("%s", out.Bytes())
	}
}

// TestPlain shows what another process wrote, and has no terminal obey it.
func TestPlain(t *testing.T) {
	for _, f := range []journal.Format{journal.Text, journal.JSON, journal.Events} {
		var out bytes.Buffer
		journal.New(&out, f, "coordinator").Info("gone\x1b[2J\u202e", journal.Worker, "a\x07")
		if text := out.String(); regexp.MustCompile("[\x00-\x08\x1b\u202e]").MatchString(text) || !regexp.MustCompile(`gone\\+x1b`).MatchString(text) {
			t.Errorf("%s: %q", f, text)
		}
	}
}

func TestParse(t *testing.T) {
	for _, name := range []string{"", "events", "xml"} {
		if _, err := journal.Parse(name); err == nil {
			t.Errorf("%q is a format", name)
		}
	}
	if f, err := journal.Parse("json"); f != journal.JSON || err != nil {
		t.Error(f, err)
	}
}
