// Package ui has web pages to try the models of package serve in a browser:
//
//	models.Mount(ui.New(models)) // at / and under /ui/
//
// One page lists the models. The page of a model has a form for one row, based on the schema and on
// the profile of the training rows. The result shows the prediction and the contribution of each
// input: Shapley values, which add up to the difference from the prediction of the typical row.
//
// Pages are plain HTML with inline CSS, without scripts or external resources; a
// Content-Security-Policy enforces this. The URL contains the row, so it can be shared, unless the
// model has too many inputs.
package ui

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/serve"
)

// pages handles the requests for pages.
type pages struct{ server *serve.Server }

// New returns the pages of s, for [serve.Server.Mount]. If the server requires a token, browsers
// ask for it as the password, with any user name.
func New(s *serve.Server) http.Handler { return pages{s} }

// ServeHTTP implements http.Handler.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, "/ui/")
	if !below {
		if trimmed := strings.Trim(r.URL.Path, "/"); trimmed == "" || trimmed == "ui" {
			w.Header().Set("Location", "ui/") // relative, because the server may be mounted under a prefix
			w.WriteHeader(http.StatusSeeOther)
			return
		}
	}
	out := page{Title: "Models", Home: "./" + strings.Repeat("../", strings.Count(path, "/"))}
	code := http.StatusOK
	if err := p.answer(w, r, path, &out); err != nil {
		e := serve.ErrorOf(err)
		out.Error, code = strings.TrimPrefix(e.Message, "row 0: "), e.Code.HTTP() // a form has one row
		if e.Code == protocol.Unauthenticated {
			w.Header().Set("WWW-Authenticate", `Basic realm="bochner", charset="UTF-8"`)
			out.Home, out.Error = "", "missing or invalid token; enter the token as the password, with any user name"
		}
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", e.RetryAfterSeconds())
		}
	}
	out.send(w, code)
}

// answer fills the page for a path below /ui/: "", NAME or NAME/VERSION.
func (p pages) answer(w http.ResponseWriter, r *http.Request, path string, out *page) error {
	header := r.Header.Get("Authorization")
	if _, password, ok := r.BasicAuth(); ok {
		header = "Bearer " + password
	}
	if err := p.server.Authorized(header); err != nil {
		return err
	}
	methods := []string{http.MethodGet, http.MethodHead}
	if path != "" {
		methods = append(methods, http.MethodPost)
	}
	if !slices.Contains(methods, r.Method) {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		return &serve.Error{Code: protocol.MethodNotAllowed, Message: "method: must be one of " + strings.Join(methods,
			", ") + ", got " + r.Method}
	}
	if path == "" {
		out.list(p.server)
		return nil
	}
	name, version, _ := strings.Cut(path, "/")
	given, err := values(r)
	if err != nil {
		return err
	}
	m, err := p.server.Model(name, version)
	if err == nil {
		m = m.ForRequest()
	}
	if err != nil {
		return err
	}
	out.Title, out.Model = m.Name, &modelPage{Lead: describeTask(m),
		Versions: versionLinks(p.server.Versions(name), m, version)}
	return out.Model.fill(r.Context(), p.server, m, given)
}

// values returns the form values of a request.
func values(r *http.Request) (url.Values, error) {
	text := r.URL.RawQuery
	if r.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil ||
			kind != "application/x-www-form-urlencoded" {
			return nil, &serve.Error{Code: protocol.UnsupportedMediaType,
				Message: "content type: must be application/x-www-form-urlencoded"}
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, protocol.MaxPageBytes+1))
		switch {
		case len(body) >= protocol.MaxPageBytes:
			return nil, &serve.Error{Code: protocol.TooLarge, Message: fmt.Sprintf("form size: must be at most %d bytes",
				protocol.MaxPageBytes)}
		case err != nil:
			return nil, &serve.Error{Code: protocol.RequestTimeout, Message: "the form is incomplete"}
		}
		text = string(body)
	}
	// Browsers send the end of a line as two characters.
	out, err := url.ParseQuery(strings.NewReplacer("%0D%0A", "%0A", "%0d%0a", "%0A").Replace(text))
	if err != nil {
		return nil, &serve.Error{Code: protocol.InvalidArgument,
			Message: "cannot parse the form data: must be NAME=VALUE&NAME=VALUE"}
	}
	return out, nil
}
