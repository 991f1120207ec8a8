package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client talks to a tracking server. It is safe for concurrent use.
type Client struct {
	address     Address
	credentials Credentials
	http        *http.Client
}

// NewClient returns a client of the server at an address.
func NewClient(address Address, credentials Credentials) *Client {
	return &Client{address: address, credentials: credentials, http: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start contains the properties of a new run.
type Start struct {
	Experiment string // created if it does not exist; that of the address takes precedence
	Name       string
	Parent     string // identifier of the run that this one is a part of, "" for none
	User       string // user, "" if unknown
	Time       time.Time
}

// Start creates a run.
func (c *Client) Start(ctx context.Context, s Start) (*Run, error) {
	name := c.address.Experiment
	if name == "" {
		name = s.Experiment
	}
	experiment, err := c.experiment(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.create(ctx, experiment, s)
}

// create creates a run of an experiment, given its identifier.
func (c *Client) create(ctx context.Context, experiment string, s Start) (*Run, error) {
	tags := map[string]string{"mlflow.runName": s.Name, "mlflow.source.name": "bochner", "mlflow.source.type": "LOCAL"}
	if s.Parent != "" {
		tags["mlflow.parentRunId"] = s.Parent
	}
	if s.User != "" {
		tags["mlflow.user"] = s.User
	}
	var answer struct {
		Run struct {
			Info struct {
				ID        string `json:"run_id"`
				Artifacts string `json:"artifact_uri"`
			} `json:"info"`
		} `json:"run"`
	}
	err := c.call(ctx, http.MethodPost, "runs/create", map[string]any{
		"experiment_id": experiment, "run_name": s.Name, "start_time": s.Time.UnixMilli(), "tags": pairs(tags, maxTag),
	}, &answer)
	if err == nil && answer.Run.Info.ID == "" {
		err = c.named("runs/create", errors.New("the answer names no run"))
	}
	if err != nil {
		return nil, err
	}
	return &Run{client: c, ID: answer.Run.Info.ID, Experiment: experiment, artifacts: answer.Run.Info.Artifacts}, nil
}

// experiment returns the identifier of the named experiment, which it creates if it does not exist.
func (c *Client) experiment(ctx context.Context, name string) (string, error) {
	id, err := c.findExperiment(ctx, name)
	var refused *Refusal
	if !errors.As(err, &refused) || refused.Code != "RESOURCE_DOES_NOT_EXIST" {
		return id, err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	err = c.call(ctx, http.MethodPost, "experiments/create", map[string]any{"name": name}, &made)
	if errors.As(err, &refused) && refused.Code == "RESOURCE_ALREADY_EXISTS" { // another run was faster
		return c.findExperiment(ctx, name)
	}
	if err == nil && made.ID == "" {
		err = c.named("experiments/create", errors.New("the answer names no experiment"))
	}
	return made.ID, err
}

func (c *Client) findExperiment(ctx context.Context, name string) (string, error) {
	var found struct {
		Experiment struct {
			ID    string `json:"experiment_id"`
			Stage string `json:"lifecycle_stage"`
		} `json:"experiment"`
	}
	err := c.call(ctx, http.MethodGet, "experiments/get-by-name?experiment_name="+url.QueryEscape(name), nil, &found)
	switch {
	case err != nil:
		return "", err
	case found.Experiment.Stage == "deleted":
		return "", c.named("experiments/get-by-name",
			fmt.Errorf("the experiment %q is deleted there: restore it, or name another one with ?experiment=NAME", name))
	case found.Experiment.ID == "":
		return "", c.named("experiments/get-by-name", errors.New("the answer names no experiment; is it an MLflow server?"))
	}
	return found.Experiment.ID, nil
}

// Refusal is an error response of the server.
type Refusal struct {
	Status  int    // HTTP status
	Code    string // MLflow error code, or ""
	Message string // MLflow message, or the beginning of the response
}

// Error returns the message of the server.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status))
	if r.Message != "" {
		text += ": " + r.Message
	}
	switch {
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		text += "; credentials are read from MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN"
	case r.Status/100 == 3:
		text += "; name the server that it leads to"
	}
	return text
}

// named adds the request and the server to an error.
func (c *Client) named(what string, err error) error {
	what, _, _ = strings.Cut(what, "?")
	return fmt.Errorf("mlflow: %s: %s: %w", c.address.Server, what, err)
}

// call sends a request to the tracking API and decodes the response into answer, which may be nil.
func (c *Client) call(ctx context.Context, method, what string, body map[string]any, answer any) error {
	var reader io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return c.named(what, err)
		}
		reader = bytes.NewReader(text)
	}
	text, err := c.send(ctx, method, "/api/2.0/mlflow/"+what, reader, -1, "application/json")
	if err == nil && answer != nil {
		if wrong := json.Unmarshal(text, answer); wrong != nil {
			err = fmt.Errorf("the answer is not the JSON of an MLflow server: %s", beginning(text))
		}
	}
	if err != nil {
		return c.named(what, err)
	}
	return nil
}

// maxAnswer is the maximum size of a response in bytes.
const maxAnswer = 1 << 20

// send sends a request and returns the text of the response. size is that of the body, −1 if the
// body knows it.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader, size int64, kind string) ([]byte,
	error) {
	request, err := http.NewRequestWithContext(ctx, method, c.address.Server+path, body)
	if err != nil {
		return nil, err
	}
	if size >= 0 {
		request.ContentLength = size
	}
	if body != nil {
		request.Header.Set("Content-Type", kind)
	}
	switch {
	case c.credentials.User != "" && c.credentials.Password != "":
		request.SetBasicAuth(c.credentials.User, c.credentials.Password)
	case c.credentials.Token != "":
		request.Header.Set("Authorization", "Bearer "+c.credentials.Token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, reason(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, reason(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		return nil, refusal(response.StatusCode, text)
	}
	return text, nil
}

// reason leaves out the URL, which the message has already, and prefers the context's own reason.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// refusal returns the error of an unsuccessful response.
func refusal(status int, text []byte) *Refusal {
	var output struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &output) != nil || output.Message == "" {
		output.Message = beginning(text)
	}
	return &Refusal{Status: status, Code: output.Code, Message: beginning([]byte(output.Message))}
}

// beginning is the first line of a string, and not much of that.
func beginning(text []byte) string {
	const most = 200
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return short(strings.ToValidUTF8(line, "?"), most)
}
