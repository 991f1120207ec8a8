package serve

import (
	"net/http"
	"strings"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// Routes by the end of a path.
var (
	noRoute = route{name: "none", handle: func(*call) error {
		return newError(protocol.NotFound, "unknown path; models are under /v1/models and /v2/models")
	}}
	fixedRoutes = map[string]route{
		"v1/models":       {name: "models", handle: listModels},
		"v2":              {name: "server", handle: serverMetadata},
		"v2/health/live":  {name: "live", handle: serveLive, public: true},
		"v2/health/ready": {name: "ready", handle: serveReady, public: true},
		"metrics": {name: "metrics", handle: func(c *call) error {
			c.forward(c.server.metrics)
			return nil
		}},
	}
	v1Routes = map[string]route{
		"":        {name: "model", handle: describeModel},
		"predict": {name: "predict", method: http.MethodPost, handle: predictRows},
		"explain": {name: "explain", method: http.MethodPost, handle: explainRows, explains: true},
	}
	v2Routes = map[string]route{
		"":      {name: "metadata", handle: modelMetadata},
		"ready": {name: "model_ready", handle: modelReady},
		"infer": {name: "infer", method: http.MethodPost, handle: inferTensors},
	}
)

// parseRoute returns the route of a path such as /v1/models/NAME[/versions/VERSION][:VERB] or
// /v2/models/NAME[/versions/VERSION][/VERB].
func parseRoute(path string) route {
	path = strings.TrimPrefix(path, "/")
	if path == "" || path == "ui" || strings.HasPrefix(path, "ui/") {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "ui"), "/"), "/")
		return route{name: "ui", model: name, handle: servePages, public: true, mounted: true}
	}
	path = strings.TrimSuffix(path, "/")
	if to, ok := fixedRoutes[path]; ok {
		return to
	}
	parts := strings.SplitN(path, "/", 7) // one more than any route has
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

// RouteName returns the label of the request's route in the metrics, such as predict, infer or
// model; "none" for an unknown path.
func (*Server) RouteName(r *http.Request) string { return parseRoute(r.URL.Path).name }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := calls.Get().(*call)
	c.reset(s, w, r, parseRoute(r.URL.Path))
	defer c.end()
	h := w.Header()
	h["X-Request-Id"] = []string{c.requestID}
	h["X-Content-Type-Options"] = headerNoSniff
	h["Cache-Control"] = headerNoStore
	if s.draining.Load() {
		h["Connection"] = headerClose // the next request goes to another server
	}
	err := c.check()
	if err == nil {
		err = c.route.handle(c)
	}
	if err != nil {
		c.fail(ErrorOf(err))
	}
}

// check verifies the origin, the token and the method.
func (c *call) check() error {
	if err := c.checkBrowser(); err != nil {
		return err
	}
	if !c.route.public {
		if err := c.server.Authorized(c.r.Header.Get("Authorization")); err != nil {
			return err
		}
	}
	method, allowed := c.route.method, c.route.method
	if method == "" {
		method, allowed = http.MethodGet, "GET, HEAD"
	}
	if c.route.mounted || c.route.name == noRoute.name || c.r.Method == method || method == http.MethodGet &&
		c.r.Method == http.MethodHead {
		return nil
	}
	c.w.Header().Set("Allow", allowed)
	return newError(protocol.MethodNotAllowed, "method: must be %s, got %s", method, rowerrors.Clip(c.r.Method))
}

// Mount serves / and /ui/ by h, such as the pages of package serve/ui. Its requests are logged,
// counted and limited; h must check the token by [Server.Authorized]. Call Mount before the server
// starts.
func (s *Server) Mount(h http.Handler) { s.pages = h }

// servePages delegates to the mounted handler.
func servePages(c *call) error {
	s := c.server
	if s.pages == nil {
		c.route.name = noRoute.name
		return noRoute.handle(c)
	}
	if s.models.loadedVersions(c.route.model) != nil {
		c.model = c.route.model
	}
	if err := s.limiter.admit(s.limiter.predictions); err != nil {
		return err
	}
	defer s.limiter.finish()
	if c.r.Method == http.MethodPost {
		if err := c.Reserve(2 * protocol.MaxPageBytes); err != nil { // the body and its decoded form
			return err
		}
		c.r.Body = http.MaxBytesReader(c.w, c.r.Body, protocol.MaxPageBytes)
	}
	c.forward(s.pages)
	return nil
}
