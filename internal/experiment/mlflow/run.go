package mlflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Run is a run on a tracking server.
type Run struct {
	ID         string
	Experiment string // its identifier

	client    *Client
	artifacts string // where its files are
}

// Start creates a child run.
func (r *Run) Start(ctx context.Context, s Start) (*Run, error) {
	s.Parent = r.ID
	return r.client.create(ctx, r.Experiment, s)
}

// Page is the address of the page that shows the run.
func (r *Run) Page() string {
	return r.client.address.Server + "/#/experiments/" + url.PathEscape(r.Experiment) + "/runs/" + url.PathEscape(r.ID)
}

// Limits of the server: entries per request, and lengths of keys and values.
const (
	maxParams  = 100 // and as many tags
	maxMetrics = 800 // 1000 entries in all
	maxKey     = 250
	maxParam   = 6000
	maxTag     = 8000
)

// Log logs entries in as many requests as necessary. It omits metrics that are not finite, replaces
// characters that MLflow does not allow in keys by _, and truncates keys and values.
func (r *Run) Log(ctx context.Context, e Entries) error {
	params, tags := pairs(e.Params, maxParam), pairs(e.Tags, maxTag)
	now := time.Now().UnixMilli()
	metrics := []map[string]any{} // a server fails at null
	for _, m := range e.Metrics {
		if !math.IsNaN(m.Value) && !math.IsInf(m.Value, 0) {
			metrics = append(metrics, map[string]any{"key": key(m.Key), "value": m.Value, "timestamp": now, "step": m.Step})
		}
	}
	for len(params)+len(tags)+len(metrics) > 0 {
		p, t, m := min(len(params), maxParams), min(len(tags), maxParams), min(len(metrics), maxMetrics)
		err := r.client.call(ctx, http.MethodPost, "runs/log-batch",
			map[string]any{"run_id": r.ID, "params": params[:p], "tags": tags[:t], "metrics": metrics[:m]}, nil)
		if err != nil {
			return err
		}
		params, tags, metrics = params[p:], tags[t:], metrics[m:]
	}
	return nil
}

// pair is a parameter or a tag.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// pairs returns the entries of a map by key, with values truncated to a number of bytes.
func pairs(m map[string]string, most int) []pair {
	out := []pair{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, pair{key(k), short(m[k], most)})
	}
	return out
}

// invalidKeyChars matches the characters that MLflow does not allow in keys.
var invalidKeyChars = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{N}_\-. /]`) })

// key is one that MLflow takes.
func key(text string) string { return cut(invalidKeyChars().ReplaceAllString(text, "_"), maxKey) }

// short truncates a string to a number of bytes, with an ellipsis.
func short(text string, most int) string {
	const sign = "…"
	if len(text) <= most {
		return text
	}
	return cut(text, most-len(sign)) + sign
}

// cut returns the longest prefix of whole characters within a number of bytes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Upload stores the file at path among the artifacts of the run; the name may have directories. The
// server must proxy artifacts, as `mlflow server` does by default; otherwise it returns an error.
func (r *Run) Upload(ctx context.Context, name, file string) error {
	base, err := r.artifactPath()
	if err != nil {
		return r.client.named("files", err)
	}
	f, err := os.Open(file)
	if err != nil {
		return r.client.named(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r.client.named(name, err)
	}
	at := url.URL{Path: "/api/2.0/mlflow-artifacts/artifacts/" + path.Join(base, name)}
	if _, err := r.client.send(ctx, http.MethodPut, at.EscapedPath(), f, info.Size(),
		"application/octet-stream"); err != nil {
		return r.client.named(name, err)
	}
	return nil
}

// artifactPath returns the path of the run's artifacts on the server.
func (r *Run) artifactPath() (string, error) {
	u, err := url.Parse(r.artifacts)
	if err != nil || u.Scheme != "mlflow-artifacts" {
		where, _, _ := strings.Cut(r.artifacts, "?")
		return "", fmt.Errorf("the server keeps them at %q and does not pass them on; start it with --serve-artifacts and "+
			"--artifacts-destination", where)
	}
	folder := strings.Trim(u.Path, "/")
	if folder == "" || slices.Contains(strings.Split(folder, "/"), "..") {
		return "", errors.New("the server names no folder for them")
	}
	return folder, nil
}

// End reports the end of the run with the current time.
func (r *Run) End(ctx context.Context, status Status) error {
	return r.client.call(ctx, http.MethodPost, "runs/update", map[string]any{"run_id": r.ID, "status": status,
		"end_time": time.Now().UnixMilli()}, nil)
}
