package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-rl/weft/internal/request"
)

// detach starts or resumes a run in a cluster, prints how to watch, stop and fetch it, and returns
// while it runs.
func (c *command) detach(ctx context.Context, f *trainFlags, r *request.Request, name string, begin func(ctx context.Context, name, config string) error) error {
	text, err := r.YAML()
	if err != nil {
		return err
	}
	if err := begin(ctx, name, string(text)); err != nil {
		return err
	}
	if f.json {
		return json.NewEncoder(c.out).Encode(struct {
			Event string `json:"event"`
			Run   string `json:"run"`
		}{"submitted", name})
	}
	at := f.where()
	fmt.Fprintf(c.out, "run %s is submitted, and goes on without this command\n", name)
	fmt.Fprintf(c.out, "  weft logs %s --follow%s   tells what happens to it\n", name, at)
	fmt.Fprintf(c.out, "  weft status %s%s          shows where it stands\n", name, at)
	fmt.Fprintf(c.out, "  weft stop %s%s            saves and ends it; weft resume %s%s goes on\n", name, at, name, at)
	fmt.Fprintf(c.out, "its record is in %s of the coordinator's folder of runs, its checkpoints in %s of the workers' --store; weft eval takes either folder\n", name, name)
	return nil
}

// where returns the flags by which another command finds the same cluster.
func (f *elsewhere) where() string {
	text := " --cluster " + strings.Join(f.addresses, ",")
	for _, x := range [][2]string{{"certs", f.dir}, {"ca", f.ca}, {"cert", f.cert}, {"key", f.key}} {
		if x[1] != "" {
			text += fmt.Sprintf(" --%s %s", x[0], x[1])
		}
	}
	return text
}
