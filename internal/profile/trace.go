package profile

import (
	"encoding/json"
	"io"
	"math"
)

// event is one of Chrome's trace-event format, which Perfetto opens: a complete event, with its
// begin and duration in microseconds, or metadata.
type event struct {
	Name  string            `json:"name"`
	Class string            `json:"cat,omitempty"`
	Phase string            `json:"ph"`
	Begin float64           `json:"ts"`
	Took  float64           `json:"dur,omitempty"`
	PID   int               `json:"pid"`
	TID   int               `json:"tid"`
	Args  map[string]string `json:"args,omitempty"`
}

// WriteTrace writes the timeline of the newest work: a process for every worker, a thread for every
// replica. Perfetto and Chrome's about:tracing open it.
func (p *Profile) WriteTrace(w io.Writer) error {
	var events []event
	began := int64(math.MaxInt64)
	for _, r := range p.Replicas {
		for _, s := range r.Spans {
			began = min(began, s.Begin)
		}
	}
	for i, r := range p.Replicas {
		events = append(events,
			event{Name: "process_name", Phase: "M", PID: r.Worker, TID: i, Args: map[string]string{"name": "worker"}},
			event{Name: "thread_name", Phase: "M", PID: r.Worker, TID: i, Args: map[string]string{"name": r.String()}})
		for _, s := range r.Spans {
			events = append(events, event{Name: s.Name, Class: string(s.Class), Phase: "X", Begin: float64(s.Begin-began) / 1e3, Took: math.Round(s.Seconds*1e9) / 1e3, PID: r.Worker, TID: i})
		}
	}
	return json.NewEncoder(w).Encode(map[string]any{"traceEvents": events, "displayTimeUnit": "ms"})
}
