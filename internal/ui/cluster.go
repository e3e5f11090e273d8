package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Cluster is a cluster as the page shows it.
type Cluster struct {
	Coordinator string       `json:"coordinator"` // its address
	Workers     []Worker     `json:"workers"`
	Runs        []ClusterRun `json:"runs"`
	LeftOut     []string     `json:"left_out,omitempty"` // links and workers that no plan uses for now, and why
	Trouble     string       `json:"trouble,omitempty"`  // why the coordinator cannot be asked
}

// Worker is a process of a cluster.
type Worker struct {
	Name    string   `json:"name"`
	Host    string   `json:"host"`
	Cores   int      `json:"cores"`
	Memory  int64    `json:"memory"` // bytes; 0 is unknown
	Devices []string `json:"devices"`
	Run     string   `json:"run"`   // run that it has a part in
	State   string   `json:"state"` // working, idle, silent or leaving
}

// ClusterRun is a run of a cluster.
type ClusterRun struct {
	Name     string   `json:"name"`
	Phase    string   `json:"phase"`
	Why      string   `json:"why"`
	Fault    string   `json:"fault"` // last failure of a part since a checkpoint was committed
	Epoch    int64    `json:"epoch"`
	Workers  []string `json:"workers"`
	Steps    int64    `json:"steps"`
	Saved    int64    `json:"saved"` // step of the newest checkpoint
	Speed    float64  `json:"speed"` // steps a second
	Slowest  string   `json:"slowest"`
	History  []string `json:"history"` // what happened to it, the newest last
	Restarts int      `json:"restarts"`
}

// patience bounds how long a coordinator may take to answer.
const patience = 3 * time.Second

// lookAround asks the cluster, if there is one, and counts a change if its answer is another than
// before.
func (s *Site) lookAround(ctx context.Context) {
	if s.Cluster == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := s.Options.Cluster(ctx)
	if err != nil {
		c = Cluster{Trouble: err.Error()}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.Equal(text, s.cluster) {
		s.cluster = text
		s.changed()
	}
}

// clusterOf answers with the cluster.
func (s *Site) clusterOf(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	text := s.cluster
	s.mu.Unlock()
	if text == nil {
		fail(w, http.StatusNotFound, errors.New("no cluster is shown: weft ui --cluster ADDRESS shows one"))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // a client that has left
}
