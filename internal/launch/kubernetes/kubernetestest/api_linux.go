package kubernetestest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

type object = map[string]any

// client speaks with the API server.
type client struct {
	base, token string
	http        *http.Client
}

func newClient(base, token string) *client {
	return &client{base, token, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 8}}}
}

// refused is an answer that is an error.
type refused struct {
	code int
	said string
}

func (r refused) Error() string { return fmt.Sprintf("%d: %s", r.code, r.said) }

// is reports whether an error is an answer with a code.
func is(err error, code int) bool {
	var r refused
	return errors.As(err, &r) && r.code == code
}

// open sends a request and returns the answer's body.
func (c *client) open(ctx context.Context, method, path string, body any) (io.ReadCloser, error) {
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, method, c.base+path, in)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+c.token)
	q.Header.Set("Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == http.MethodPatch])
	r, err := c.http.Do(q)
	if err != nil {
		return nil, err
	}
	if r.StatusCode >= 300 {
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return nil, errors.Join(refused{r.StatusCode, string(text)}, err)
	}
	return r.Body, nil
}

// send sends a request, and decodes the answer into v unless that is nil.
func (c *client) send(ctx context.Context, method, path string, body, v any) error {
	r, err := c.open(ctx, method, path, body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer r.Close()
	if v == nil {
		_, err = io.Copy(io.Discard, r)
		return err
	}
	return json.NewDecoder(r).Decode(v)
}

// watch calls see for each pod of a node, and whenever one changes, until the connection ends.
func (c *client) watch(ctx context.Context, node string, see func(kind string, p pod)) error {
	r, err := c.open(ctx, http.MethodGet, "/api/v1/pods?watch=1&fieldSelector=spec.nodeName="+node, nil)
	if err != nil {
		return err
	}
	defer r.Close()
	for d := json.NewDecoder(r); ; {
		var e struct {
			Type   string
			Object pod
		}
		if err := d.Decode(&e); err != nil {
			return err
		}
		see(e.Type, e.Object)
	}
}

// pod holds the fields of a pod that an agent reads.
type pod struct {
	Metadata struct {
		Name, Namespace, UID       string
		Labels, Annotations        map[string]string
		DeletionTimestamp          string
		DeletionGracePeriodSeconds *int
	}
	Spec struct {
		Hostname, Subdomain           string
		TerminationGracePeriodSeconds int
		SecurityContext               struct{ RunAsUser, RunAsGroup, FsGroup int }
		Containers                    []struct {
			Name, Image   string
			Command, Args []string
			Env           []struct {
				Name, Value string
				ValueFrom   *struct{ FieldRef struct{ FieldPath string } }
			}
			VolumeMounts []struct {
				Name, MountPath, SubPath string
				ReadOnly                 bool
			}
			SecurityContext struct{ ReadOnlyRootFilesystem bool }
			ReadinessProbe  *struct {
				HTTPGet struct{ Path string }
			}
		}
		Volumes []struct {
			Name                  string
			Secret                *struct{ SecretName string }
			ConfigMap             *struct{ Name string }
			PersistentVolumeClaim *struct{ ClaimName string }
			EmptyDir              *struct{}
		}
	}
	Status struct{ Phase string }
}

// path returns the path of a pod in the API.
func (p pod) path() string {
	return "/api/v1/namespaces/" + p.Metadata.Namespace + "/pods/" + p.Metadata.Name
}
