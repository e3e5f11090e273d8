package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/launch"
)

// jobObject holds the fields of a Job that are read.
type jobObject struct {
	Metadata struct{ UID, DeletionTimestamp string }
	Status   struct{ Conditions []condition }
}

type condition struct{ Type, Status, Reason, Message string }

// podList holds the fields of pods that are read.
type podList struct{ Items []pod }

type pod struct {
	Metadata struct {
		Name, UID, CreationTimestamp, DeletionTimestamp string
		Annotations                                     map[string]string
	}
	Spec   struct{ NodeName string }
	Status struct {
		Phase             string
		Conditions        []condition
		ContainerStatuses []struct {
			State struct {
				Waiting    *struct{ Reason, Message string }
				Terminated *struct {
					ExitCode        int
					Reason, Message string
				}
			}
		}
	}
}

// begun reports whether the container of a pod has started.
func (p pod) begun() bool { return p.Status.Phase != "Pending" && p.Status.Phase != "" }

// newest returns the pod that was made last, or nil.
func (l podList) newest() *pod {
	if len(l.Items) == 0 {
		return nil
	}
	p := slices.MaxFunc(l.Items, func(a, b pod) int {
		return cmp.Or(cmp.Compare(a.Metadata.CreationTimestamp, b.Metadata.CreationTimestamp), -cmp.Compare(a.Metadata.DeletionTimestamp, b.Metadata.DeletionTimestamp))
	})
	return &p
}

// events holds the messages of controllers about an object.
type events struct {
	Items []struct{ Reason, Message string }
}

// standing says where a job stands, and whether it can begin.
type standing struct {
	launch.Standing
	settled  bool   // it has begun, or waits for its turn
	hopeless string // why it cannot begin
}

// standing asks where a job stands.
func (i id) standing(ctx context.Context) (s standing, err error) {
	var job jobObject
	if err := i.into(ctx, &job, "", "get", "job", i.name, "--ignore-not-found"); err != nil {
		return s, err
	}
	if job.Metadata.UID == "" {
		return standing{Standing: launch.Standing{Phase: launch.Over, Text: "gone from the cluster"}, settled: true}, nil
	}
	var pods podList
	if err := i.into(ctx, &pods, "", "get", "pods", "--selector=batch.kubernetes.io/job-name="+i.name); err != nil {
		return s, err
	}
	if s, over := job.over(pods); over {
		return s, nil
	}
	s = pods.standing()
	if job.Metadata.DeletionTimestamp != "" {
		s.Phase, s.Text = launch.Running, "ENDING"
	}
	if len(pods.Items) == 0 {
		s.Text = "WAITING for pods"
		var told events
		if err := i.into(ctx, &told, "", "get", "events", "--field-selector=reason=FailedCreate,involvedObject.name="+i.name); err == nil && len(told.Items) > 0 {
			said := told.Items[len(told.Items)-1].Message
			s.Text = "WAITING (" + said + ")"
			s.hopeless = sentenceOf("Kubernetes makes no pods of the job: ", said)
		}
	}
	return s, nil
}

// sentenceOf returns a problem that the cluster tells of, with what to do about it.
func sentenceOf(what, said string) string {
	for _, a := range advice {
		if strings.Contains(said, a.text) {
			return what + said + "; " + a.do
		}
	}
	return what + said
}

// over returns how a job ended, if it has.
func (j jobObject) over(pods podList) (s standing, over bool) {
	for _, c := range j.Status.Conditions {
		if c.Status != "True" {
			continue
		}
		switch c.Type {
		case "Complete", "SuccessCriteriaMet":
			return standing{Standing: launch.Standing{Phase: launch.Over, Text: "COMPLETE"}, settled: true}, true
		case "Failed", "FailureTarget":
			s = standing{Standing: launch.Standing{Phase: launch.Over, Text: "FAILED (" + c.Reason + ")"}, settled: true}
			if why := pods.why(); why != "" {
				s.Text = "FAILED (" + why + ")"
			}
			s.hopeless = "the job has " + s.Text
			over = true
		}
	}
	return s, over
}

// why returns what the command of a pod that failed says is wrong. Lines about the run may follow.
func (l podList) why() (said string) {
	for _, p := range l.Items {
		for _, c := range p.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil && (t.ExitCode == 1 || t.ExitCode == 2) {
				for line := range strings.Lines(t.Message) {
					if text, ok := strings.CutPrefix(line, "weft: "); ok {
						said = strings.TrimSpace(text)
					}
				}
			}
		}
	}
	return said
}

// standing returns where a job stands that has pods.
func (l podList) standing() standing {
	s := standing{Standing: launch.Standing{Text: "WAITING"}}
	var nodes, problems []string
	running := 0
	for _, p := range l.Items {
		if p.Status.Phase == "Running" {
			running++
			nodes = append(nodes, p.Spec.NodeName)
			continue
		}
		text, hopeless := p.problem()
		if text != "" && !slices.Contains(problems, text) {
			problems = append(problems, text)
		}
		s.hopeless = cmp.Or(s.hopeless, hopeless)
		s.settled = s.settled || text != ""
	}
	slices.Sort(nodes)
	if running > 0 {
		s.Phase, s.Text = launch.Running, fmt.Sprintf("RUNNING on %s", strings.Join(slices.Compact(nodes), ","))
	}
	s.settled = s.settled || running == len(l.Items)
	if len(problems) > 0 {
		s.Text += " (" + strings.Join(problems, "; ") + ")"
	}
	return s
}

// problem returns what a pod waits for, and what to do if it will not come.
func (p pod) problem() (text, hopeless string) {
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			return cmp.Or(c.Message, c.Reason), ""
		}
	}
	for _, c := range p.Status.ContainerStatuses {
		w := c.State.Waiting
		if w == nil {
			continue
		}
		switch w.Reason {
		case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ErrImageInspect":
			text = w.Reason + ": " + w.Message
			return text, "the image cannot be pulled: " + w.Message + "; push it to a registry that the cluster's nodes reach, and name it with --kubernetes image=NAME, or the secret of a private one with pull-secret=NAME"
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			text = w.Reason + ": " + w.Message
			return text, "the container cannot be started: " + w.Message + "; kubectl describe pod " + p.Metadata.Name + " shows more"
		}
	}
	return "", ""
}
