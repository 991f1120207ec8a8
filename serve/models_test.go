package serve_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/serve"
)

// opened returns a server with loaded model files.
func opened(t *testing.T, models ...string) *serve.Server {
	t.Helper()
	s, err := serve.New(serve.Options{Models: models, ReloadInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// row is a row of the numeric models.
const row = `{"rows":[{"a":1,"b":2,"c":3}]}`

// predictFlat requests the prediction of one row.
func predictFlat(t *testing.T, s *serve.Server, model string) string {
	t.Helper()
	got := ask(s, "POST", "/v1/models/"+model+":predict", row)
	if got.code != 200 {
		t.Fatalf("%s: %d %s", model, got.code, got.body)
	}
	_, text, _ := strings.Cut(got.body, `"predictions":`)
	return text
}

// Names and versions; requests without a version use the highest one.
func TestNamesAndVersions(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "houses")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	flat := save(t, dir, "flat.bochner", "nrent")
	save(t, folder, "9.bochner", "nchance")
	save(t, folder, "10.bochner", "nmany")
	save(t, folder, "beta.bochner", "nrent")
	for _, other := range []string{"notes.txt", ".hidden.bochner", "11.bochner.tmp"} {
		if err := os.WriteFile(filepath.Join(folder, other), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := opened(t, flat, "other="+flat, folder+"/")
	if predictFlat(t, s, "flat") != predictFlat(t, s, "other") ||
		predictFlat(t, s, "flat") != predictFlat(t, s, "houses/versions/beta") {
		t.Error("one model has two predictions")
	}
	if predictFlat(t, s, "houses") != predictFlat(t, s, "houses/versions/10") ||
		predictFlat(t, s, "houses") == predictFlat(t, s, "houses/versions/9") {
		t.Error("the latest version is not the one of the greatest number")
	}
	if got := ask(s, "GET", "/v2/models/houses", ""); !strings.Contains(got.body, `"versions":["beta","9","10"]`) {
		t.Error(got.body)
	}
	var list struct {
		Models []struct {
			Name, Version, Task string
			Ready               bool
			Versions            []struct{ Version, Loaded string }
		}
	}
	if err := json.Unmarshal([]byte(ask(s, "GET", "/v1/models", "").body), &list); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(len(list.Models), list.Models[2].Name, list.Models[2].Version, list.Models[2].Task,
		list.Models[2].Ready, len(list.Models[2].Versions)); text != "3houses10regressiontrue 3" {
		t.Error(text)
	}
}

// New reports all configuration errors at once.
func TestMissingModels(t *testing.T) {
	dir := t.TempDir()
	flat := save(t, dir, "flat.bochner", "nrent")
	_, err := serve.New(serve.Options{
		Models: []string{"gone.bochner", flat, flat, "a/b=" + flat, "=" + flat, dir + "/..", "empty=" + t.TempDir()},
		Limits: serve.Limits{MaxRows: -1}, TokenFile: filepath.Join(dir, "token"), ReloadInterval: -1,
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`limits must be ≥ 0`, `ReloadInterval must be ≥ 0`, `model "gone": stat gone.bochner: no such file`,
		`duplicate model name flat; use NAME=PATH`,
		`got "a/b"; use NAME=PATH`, `got ""; use NAME=PATH`, `contains no file such as 1.bochner`, `token: no such file`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %s", err, want)
		}
	}
	if err := new(serve.Server).AddModel("a b", "1", fitted()["nrent"]); err == nil {
		t.Error("a name with a blank is taken")
	}
}

// write overwrites a file in place.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Changed files are reloaded without interrupting requests; a damaged file keeps the previous
// model.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	path := save(t, dir, "flat.bochner", "nrent")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := opened(t, path)
	before := predictFlat(t, s, "flat")
	stop := make(chan struct{})
	var asked sync.WaitGroup
	var answers atomic.Int64
	for range 4 {
		asked.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := ask(s, "POST", "/v1/models/flat:predict", row); got.code != 200 {
					t.Errorf("%d %s", got.code, got.body)
					return
				}
				answers.Add(1)
			}
		})
	}
	for _, text := range []string{string(whole[:len(whole)/2]), "", "no model", string(whole) + "x"} {
		write(t, path, text)
		if err := s.Load(ctx); err == nil || !strings.Contains(err.Error(), `model "flat", version 1`) {
			t.Errorf("of a damaged file: %v", err)
		}
		if predictFlat(t, s, "flat") != before || s.Ready() != nil {
			t.Error("a damaged file ends the model")
		}
		if got := ask(s, "GET", "/v1/models", "").body; !strings.Contains(got, `"ready":true`) ||
			!strings.Contains(got, `"error":"file is damaged"`) {
			t.Error(got)
		}
		if got := ask(s, "GET", "/metrics", "").body; !strings.Contains(got,
			`bochner_model_file_good{model="flat",version="1"} 0`) {
			t.Error("the metrics must report a damaged file")
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(ctx); !errors.Is(err, os.ErrNotExist) || predictFlat(t, s, "flat") != before {
		t.Errorf("of a file that is gone: %v", err)
	}
	save(t, dir, "flat.bochner", "nchance")
	if err := s.Load(ctx); err != nil {
		t.Error(err)
	}
	if after := predictFlat(t, s, "flat"); after == before || !strings.Contains(after, "probabilities") {
		t.Errorf("the new model does not answer: %s", after)
	}
	if got := ask(s, "GET", "/metrics", "").body; !strings.Contains(got,
		`bochner_model_file_good{model="flat",version="1"} 1`) || !strings.Contains(got,
		`bochner_model_loads_total{model="flat",version="1",result="loaded"} 2`) {
		t.Error("the metrics must report the new model")
	}
	close(stop)
	asked.Wait()
	if answers.Load() == 0 {
		t.Error("no request during the change")
	}
}

// Versions can be added, removed and damaged independently.
func TestVersionsComeAndGo(t *testing.T) {
	dir := t.TempDir()
	first := save(t, dir, "1.bochner", "nrent")
	s := opened(t, "m="+dir)
	one := predictFlat(t, s, "m")
	write(t, filepath.Join(dir, "2.bochner"), "half")
	err := s.Load(ctx)
	if _, none := s.Model("m", "2"); err == nil || predictFlat(t, s, "m") != one || s.Ready() != nil || none == nil {
		t.Errorf("a damaged version: %v", err)
	}
	if got := ask(s, "POST", "/v1/models/m/versions/2:predict", row); got.code != 503 ||
		!strings.Contains(got.body, "file is damaged") || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.code, got.body)
	}
	save(t, dir, "2.bochner", "nchance")
	if err := s.Load(ctx); err != nil || predictFlat(t, s, "m") == one || predictFlat(t, s, "m/versions/1") != one {
		t.Errorf("a new version: %v", err)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if err := s.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if got := ask(s, "POST", "/v1/models/m/versions/1:predict", row); got.code != 404 {
		t.Errorf("a version that is gone: %d %s", got.code, got.body)
	}
	if got := ask(s, "GET", "/metrics", "").body; strings.Contains(got, `model="m",version="1"`) {
		t.Error("the metrics report a removed version")
	}
	if err := os.Remove(filepath.Join(dir, "2.bochner")); err != nil {
		t.Fatal(err)
	}
	if s.Load(ctx); s.Ready() != nil || predictFlat(t, s, "m") == one {
		t.Error("an empty folder ends the last version")
	}
}

// A server is ready while all models are loaded and it is not shutting down.
func TestReadiness(t *testing.T) {
	dir := t.TempDir()
	path := save(t, dir, "flat.bochner", "nrent")
	broken := filepath.Join(dir, "broken.bochner")
	write(t, broken, "half")
	s, err := serve.New(serve.Options{Models: []string{path, broken}})
	if err != nil {
		t.Fatal(err)
	}
	ready := func(code int, words ...string) {
		t.Helper()
		got := ask(s, "GET", "/v2/health/ready", "")
		for _, word := range words {
			if got.code != code || !strings.Contains(got.body, word) || strings.Contains(got.body, dir) {
				t.Errorf("%d %s, want %d %s", got.code, got.body, code, words)
			}
		}
	}
	ready(503, `model \"flat\", version 1: not loaded yet`, `model \"broken\", version 1: not loaded yet`)
	if got := ask(s, "POST", "/v1/models/flat:predict", row); got.code != 503 {
		t.Errorf("before it is loaded: %d %s", got.code, got.body)
	}
	if got := ask(s, "GET", "/v2/health/live", ""); got.code != 200 {
		t.Error("not alive")
	}
	if err := s.Load(ctx); err == nil {
		t.Error("a damaged file is loaded")
	}
	ready(503, `"error":"model \"broken\", version 1: file is damaged"`)
	if got := ask(s, "GET", "/v2/models/broken/ready", ""); got.code != 503 ||
		got.body != `{"name":"broken","ready":false}` {
		t.Errorf("%d %s", got.code, got.body)
	}
	if got := ask(s, "GET", "/v2/models/flat/ready", ""); got.code != 200 {
		t.Error("a good model is not ready")
	}
	save(t, dir, "broken.bochner", "nchance")
	if err := s.Load(ctx); err != nil {
		t.Error(err)
	}
	ready(200, `{"ready":true}`)
	s.Drain()
	ready(503, "the server is shutting down")
	if got := ask(s, "POST", "/v1/models/flat:predict", row); got.code != 200 || got.header.Get("Connection") != "close" {
		t.Errorf("while it drains: %d %v", got.code, got.header)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if got := ask(s, "POST", "/v1/models/flat:predict", row); got.code != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("after the end: %d %s", got.code, got.body)
	}
	var none *serve.Error
	if _, err := inferDirect(s, &protocol.InferRequest{Model: "flat"}); !errors.As(err, &none) ||
		none.Code != protocol.Unavailable || none.Code.GRPC() != 14 {
		t.Errorf("after the end: %v", err)
	}
}

// The token file is reloaded; an empty file does not disable authentication.
func TestTokenIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "one")
	s, err := serve.New(serve.Options{TokenFile: file, ReloadInterval: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer watched(s)()
	lets := func(token string) bool { return s.Authorized("Bearer "+token) == nil }
	if !lets("one") || lets("two") || lets("") || s.Authorized("") == nil || s.Authorized("bearer  one") != nil {
		t.Error("the first token")
	}
	write(t, file, "two\n")
	until(t, func() bool { return lets("two") && !lets("one") })
	write(t, file, "")
	time.Sleep(20 * time.Millisecond)
	if !lets("two") || lets("") {
		t.Error("an empty file changes the token")
	}
	for _, path := range []string{"/v2/health/live", "/v2/health/ready"} {
		if got := ask(s, "GET", path, ""); got.code == http.StatusUnauthorized {
			t.Errorf("%s wants a token", path)
		}
	}
	if got := ask(s, "GET", "/v2", ""); got.code != http.StatusUnauthorized ||
		got.header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%d %v", got.code, got.header)
	}
}
