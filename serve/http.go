package serve

import (
	"net/http"
	"strings"

	"github.com/bochner-ml/bochner/internal/rowerrors"
)

// Routes by the end of a path.
var (
	noRoute = route{word: "none", answer: func(*call) error {
		return refuse(NotFound, "there is nothing at this path; models are below /v1/models and /v2/models")
	}}
	fixedRoutes = map[string]route{
		"v1/models":       {word: "models", answer: listModels},
		"v2":              {word: "server", answer: serverMetadata},
		"v2/health/live":  {word: "live", answer: live, open: true},
		"v2/health/ready": {word: "ready", answer: ready, open: true},
		"metrics": {word: "metrics", answer: func(c *call) error {
			c.forward(c.server.counts.page)
			return nil
		}},
	}
	v1Routes = map[string]route{
		"":        {word: "model", answer: describe},
		"predict": {word: "predict", method: http.MethodPost, answer: predictRows},
	}
	v2Routes = map[string]route{
		"":      {word: "metadata", answer: modelMetadata},
		"ready": {word: "model_ready", answer: modelReady},
		"infer": {word: "infer", method: http.MethodPost, answer: inferTensors},
	}
)

// routeOf returns the route of a path: of /v1/models/NAME[/versions/VERSION][:VERB] or
// /v2/models/NAME[/versions/VERSION][/VERB], for example.
func routeOf(path string) route {
	path = strings.TrimPrefix(path, "/")
	if path == "" || path == "ui" || strings.HasPrefix(path, "ui/") {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "ui"), "/"), "/")
		return route{word: "ui", model: name, answer: page, open: true, pages: true}
	}
	path = strings.TrimSuffix(path, "/")
	if to, ok := fixedRoutes[path]; ok {
		return to
	}
	parts := strings.SplitN(path, "/", 7) // one more than a route has
	if len(parts) < 3 || parts[1] != "models" {
		return noRoute
	}
	version, verb, routes := "", "", v2Routes
	if parts[0] == "v1" {
		routes = v1Routes
		last := &parts[len(parts)-1]
		*last, verb, _ = strings.Cut(*last, ":")
	}
	rest := parts[3:]
	if len(rest) >= 2 && rest[0] == "versions" && rest[1] != "" {
		version, rest = rest[1], rest[2:]
	}
	if parts[0] == "v2" && len(rest) == 1 {
		verb, rest = rest[0], nil
	}
	to, known := routes[verb]
	if !known || parts[2] == "" || len(rest) > 0 || parts[0] != "v1" && parts[0] != "v2" {
		return noRoute
	}
	to.model, to.version = parts[2], version
	return to
}

// Route returns a word for what a request asks for, as the metrics have it: predict, infer, model; none for an unknown path.
func Route(r *http.Request) string { return routeOf(r.URL.Path).word }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := calls.Get().(*call)
	c.reset(s, w, r, routeOf(r.URL.Path))
	defer c.end()
	h := w.Header()
	h["X-Request-Id"] = []string{c.id}
	h["X-Content-Type-Options"] = headerNoSniff
	h["Cache-Control"] = headerNoStore
	if s.draining.Load() {
		h["Connection"] = headerClose // the next request goes to another server
	}
	err := c.check()
	if err == nil {
		err = c.route.answer(c)
	}
	if err != nil {
		c.fail(ErrorOf(err))
	}
}

// check checks the token and the method.
func (c *call) check() error {
	if !c.route.open {
		if err := c.server.Authorized(c.r.Header.Get("Authorization")); err != nil {
			return err
		}
	}
	wanted, allowed := c.route.method, c.route.method
	if wanted == "" {
		wanted, allowed = http.MethodGet, "GET, HEAD"
	}
	if c.route.pages || c.route.word == noRoute.word || c.r.Method == wanted || wanted == http.MethodGet && c.r.Method == http.MethodHead {
		return nil
	}
	c.w.Header().Set("Allow", allowed)
	return refuse(Method, "got %s, wanted %s", rowerrors.Clip(c.r.Method), wanted)
}

// MaxPage is the maximum number of bytes of a body that a mounted handler can read.
const MaxPage = 256 << 10

// Mount lets a handler answer at / and below /ui/, as package serve/ui does. Its requests are logged, counted and limited
// in number as all are; it checks the token itself, by [Server.Authorized]. Mount must be called before the server answers.
func (s *Server) Mount(h http.Handler) { s.pages = h }

// page answers by the handler that is mounted.
func page(c *call) error {
	s := c.server
	if s.pages == nil {
		c.route.word = noRoute.word
		return noRoute.answer(c)
	}
	if s.models.of(c.route.model) != nil {
		c.model = c.route.model
	}
	if err := s.gate.admit(); err != nil {
		return err
	}
	defer s.gate.release()
	if c.r.Method == http.MethodPost {
		if err := c.Take(2 * MaxPage); err != nil { // the body, and what is read of it
			return err
		}
		c.r.Body = http.MaxBytesReader(c.w, c.r.Body, MaxPage)
	}
	c.forward(s.pages)
	return nil
}
