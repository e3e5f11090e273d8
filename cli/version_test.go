package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// A build says what the Go command noted, and of an author's program the version of Weft in it.
func TestBuild(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Path: modulePath, Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "true"}, {Key: "CGO_ENABLED", Value: "1"}, {Key: "-tags", Value: "xla"},
		},
	}
	b := buildOf(info)
	want := "weft v1.2.3; commit 0123456789ab of 2026-01-02T03:04:05Z, modified; " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "; tags xla"
	if b.String() != want || !b.CGO {
		t.Errorf("got %q, %+v", b, b)
	}
	info.Main.Path, info.Deps = "example.com/mine", []*debug.Module{{Path: modulePath, Version: "v0.9.0"}}
	if got := buildOf(info).Version; got != "v0.9.0" {
		t.Errorf("the author's program has Weft %s", got)
	}
	if got := buildOf(nil).Version; got != "unknown" {
		t.Errorf("version %q where nothing is noted", got)
	}
}
