package app

import (
	"regexp"
	"strings"
)

// The command line and the library share what they check, and so its errors, which name flags. The
// library names its own fields.

// jobFields, resumptionFields and savedFields are the fields that a Go program sets in the place of
// flags.
var (
	jobFields = map[string]string{
		"out": "Job.Out", "from": "Job.From", "env": "Job.Env", "preset": "Job.Preset", "wrap": "Job.Wrap", "steps": "Job.Steps", "seed": "Job.Seed",
		"device": "Job.Device", "set": "Job.Set", "eval-every": "Job.EvalEvery", "eval-episodes": "Job.EvalEpisodes",
		"policy": "Job.Deployment.Policy", "workers": "Job.Deployment.Workers", "max-workers": "Job.Deployment.MaxWorkers",
		"replicas": "Job.Deployment.Replicas", "async": "Job.Deployment.Async", "staleness": "Job.Deployment.Staleness",
		"samples-per-insert": "Job.Deployment.SamplesPerInsert", "tolerance": "Job.Deployment.Tolerance",
		"producers": "Job.Deployment.Producers", "queue": "Job.Deployment.Queue", "no-fuse": "Job.Deployment.NoFuse",
		"pipeline": "Job.Deployment.Pipeline", "devices": "Job.Deployment.Devices", "placement": "Job.Deployment.Placement",
		"data": "Job.Data", "storage": "Job.Storage", "storage-limit": "Job.StorageLimit",
		"resume=restart-episodes": "Resumption.RestartEpisodes",
	}
	resumptionFields = map[string]string{
		"steps": "Resumption.Steps", "resume=restart-episodes": "Resumption.RestartEpisodes", "or-begin": "Resumption.OrBegin", "from": "Job.From",
	}
	savedFields = map[string]string{}
)

var (
	flagPattern = regexp.MustCompile(`--([a-z][a-z-]*(?:=[a-z-]+)?)`)
	hintPattern = regexp.MustCompile(` \(weft [^()]*\)`)
	goesPattern = regexp.MustCompile(`weft resume \S+ goes on`)
)

// forGo rewrites the text of an error of the command line for a Go program: fields take the place
// of flags, and hints at other commands are left out. A flag without a field is named as the
// setting in the run's configuration.
func forGo(err error, fields map[string]string) error {
	if err == nil {
		return nil
	}
	if text := inGo(err.Error(), fields); text != err.Error() {
		return goError{text, err}
	}
	return err
}

// inGo does the same to a text.
func inGo(text string, fields map[string]string) string {
	text = hintPattern.ReplaceAllString(text, "")
	text = goesPattern.ReplaceAllString(text, "app.Resume goes on")
	return flagPattern.ReplaceAllStringFunc(text, func(flag string) string {
		name := strings.TrimPrefix(flag, "--")
		if field, ok := fields[name]; ok {
			return field
		}
		return strings.ReplaceAll(name, "-", "_")
	})
}

// goError is an error with another text.
type goError struct {
	text string
	error
}

func (e goError) Error() string { return e.text }
func (e goError) Unwrap() error { return e.error }
