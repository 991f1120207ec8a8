// Package mlflowtest is a tracking server for tests, with the requests that package mlflow makes.
// internal/experiment/mlflow/check.sh tests against MLflow's own server.
package mlflowtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Server is a tracking server that stores logged runs in memory. Set its fields before the first
// request.
type Server struct {
	URL string
	// Instead handles a request in place of the server if it returns true.
	Instead func(w http.ResponseWriter, r *http.Request) bool
	// Artifacts is the artifact location that the server reports; "" for itself.
	Artifacts string

	mu            sync.Mutex
	server        *httptest.Server
	experiments   []string
	runs          []*Run
	authorization []string
	requests      []string
}

// Run contains the logged data of a run.
type Run struct {
	ID, Experiment, Name string
	Status               string // "RUNNING" until it has ended
	Params, Tags         map[string]string
	Metrics              map[string][]float64 // by step
	Files                map[string]string
}

// Start starts a server; Close ends it.
func Start() *Server {
	s := &Server{}
	s.server = httptest.NewServer(s)
	s.URL = s.server.URL
	return s
}

// Close ends the server. It closes the connections that wait for an answer.
func (s *Server) Close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// Runs returns the runs in the order in which they began.
func (s *Server) Runs() []*Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Run{}, s.runs...)
}

// Authorization returns the header of that name of each request.
func (s *Server) Authorization() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.authorization...)
}

// Requests returns the method and the path of each request.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.requests...)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.authorization = append(s.authorization, r.Header.Get("Authorization"))
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.Instead != nil && s.Instead(w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	const api, files = "/api/2.0/mlflow/", "/api/2.0/mlflow-artifacts/artifacts/"
	if name, is := strings.CutPrefix(r.URL.Path, files); is {
		s.put(w, r, name)
		return
	}
	body := map[string]any{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			refuse(w, http.StatusBadRequest, "BAD_REQUEST", err.Error())
			return
		}
	}
	switch what := strings.TrimPrefix(r.URL.Path, api); r.Method + " " + what {
	case "GET experiments/get-by-name":
		s.findExperiment(w, r.URL.Query().Get("experiment_name"))
	case "POST experiments/create":
		s.experiments = append(s.experiments, body["name"].(string))
		answer(w, map[string]any{"experiment_id": strconv.Itoa(len(s.experiments))})
	case "POST runs/create":
		s.create(w, body)
	case "POST runs/log-batch", "POST runs/update":
		run := s.find(body["run_id"].(string))
		if run == nil {
			refuse(w, http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "no such run")
			return
		}
		if what == "runs/update" {
			run.Status = body["status"].(string)
			answer(w, map[string]any{})
			return
		}
		run.log(w, body)
	default:
		refuse(w, http.StatusNotFound, "ENDPOINT_NOT_FOUND", r.URL.Path)
	}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	answer(w, map[string]string{"error_code": code, "message": message})
}

func (s *Server) findExperiment(w http.ResponseWriter, name string) {
	for i, one := range s.experiments {
		if one == name {
			answer(w, map[string]any{"experiment": map[string]any{"experiment_id": strconv.Itoa(i + 1), "name": name,
				"lifecycle_stage": "active"}})
			return
		}
	}
	refuse(w, http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", fmt.Sprintf("no experiment %q", name))
}

func (s *Server) create(w http.ResponseWriter, body map[string]any) {
	id, err := strconv.Atoi(body["experiment_id"].(string))
	if err != nil || id < 1 || id > len(s.experiments) {
		refuse(w, http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", "no such experiment")
		return
	}
	run := &Run{ID: fmt.Sprintf("run%d", len(s.runs)), Experiment: s.experiments[id-1], Name: body["run_name"].(string),
		Status: "RUNNING",
		Params: map[string]string{}, Tags: map[string]string{}, Metrics: map[string][]float64{}, Files: map[string]string{}}
	for _, tag := range body["tags"].([]any) {
		pair := tag.(map[string]any)
		run.Tags[pair["key"].(string)] = pair["value"].(string)
	}
	s.runs = append(s.runs, run)
	where := s.Artifacts
	if where == "" {
		where = fmt.Sprintf("mlflow-artifacts:/%d/%s/artifacts", id, run.ID)
	}
	answer(w, map[string]any{"run": map[string]any{"info": map[string]any{"run_id": run.ID, "artifact_uri": where}}})
}

func (s *Server) find(id string) *Run {
	for _, run := range s.runs {
		if run.ID == id {
			return run
		}
	}
	return nil
}

// taken are keys that MLflow takes.
var taken = regexp.MustCompile(`^[/\w.\- :\p{L}]{1,250}$`)

// log takes a batch within MLflow's limits.
func (run *Run) log(w http.ResponseWriter, body map[string]any) {
	params, list := body["params"].([]any)
	tags, lists := body["tags"].([]any)
	metrics, all := body["metrics"].([]any)
	if !list || !lists || !all {
		w.WriteHeader(http.StatusInternalServerError) // at null MLflow fails
		return
	}
	if len(params) > 100 || len(tags) > 100 || len(params)+len(tags)+len(metrics) > 1000 {
		refuse(w, http.StatusBadRequest, "INVALID_PARAMETER_VALUE", "a batch is too large")
		return
	}
	for _, one := range append(append(append([]any{}, params...), tags...), metrics...) {
		if key := one.(map[string]any)["key"].(string); !taken.MatchString(key) {
			refuse(w, http.StatusBadRequest, "INVALID_PARAMETER_VALUE", "invalid key "+key)
			return
		}
	}
	for _, one := range params {
		pair := one.(map[string]any)
		key, value := pair["key"].(string), pair["value"].(string)
		if old, there := run.Params[key]; there && old != value || len(value) > 6000 {
			refuse(w, http.StatusBadRequest, "INVALID_PARAMETER_VALUE",
				"parameter "+key+" is there with another value, or is too long")
			return
		}
		run.Params[key] = value
	}
	for _, one := range tags {
		pair := one.(map[string]any)
		run.Tags[pair["key"].(string)] = pair["value"].(string)
	}
	for _, one := range metrics {
		m := one.(map[string]any)
		key, step := m["key"].(string), int(m["step"].(float64))
		for len(run.Metrics[key]) <= step {
			run.Metrics[key] = append(run.Metrics[key], 0)
		}
		run.Metrics[key][step] = m["value"].(float64)
	}
	answer(w, map[string]any{})
}

// put stores a file of a run.
func (s *Server) put(w http.ResponseWriter, r *http.Request, name string) {
	parts := strings.SplitN(name, "/", 4) // experiment/run/artifacts/NAME
	if r.Method != http.MethodPut || len(parts) != 4 || s.find(parts[1]) == nil {
		refuse(w, http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST", name)
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.find(parts[1]).Files[parts[3]] = string(text)
	answer(w, map[string]any{})
}
