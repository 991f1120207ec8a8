// Package ui has pages to try the models of package serve in a browser:
//
//	models.Mount(ui.New(models)) // at / and below /ui/
//
// One page lists the models, and each model has a page with a form that follows from its schema and the profile of its
// training rows. The answer has the prediction and the effect of each input: how much the prediction changes when this
// input alone is set to its typical value.
//
// Pages are plain HTML with a style of their own. They have no script, refer to no other host, and tell browsers to run and
// load nothing. The address of a page has the row, so that it can be shared, unless a model has too many inputs for that.
package ui

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/internal/protocol"
)

// pages answers requests for the pages of a server.
type pages struct{ server *serve.Server }

// New returns the pages of a server, for [serve.Server.Mount]. If the server needs a token, a browser asks for it as a
// password, with any name.
func New(s *serve.Server) http.Handler { return pages{s} }

// ServeHTTP answers a request for a page.
func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, below := strings.CutPrefix(r.URL.Path, "/ui/")
	if !below {
		if trimmed := strings.Trim(r.URL.Path, "/"); trimmed == "" || trimmed == "ui" {
			w.Header().Set("Location", "ui/") // relative, wherever the server is mounted
			w.WriteHeader(http.StatusSeeOther)
			return
		}
	}
	out := page{Title: "Models", Home: "./" + strings.Repeat("../", strings.Count(path, "/"))}
	code := http.StatusOK
	if err := p.answer(w, r, path, &out); err != nil {
		e := serve.ErrorOf(err)
		out.Fault, code = strings.TrimPrefix(e.Message, "row 0: "), e.Code.HTTP() // there is one row
		if e.Code == protocol.Unauthenticated {
			w.Header().Set("WWW-Authenticate", `Basic realm="bochner", charset="UTF-8"`)
			out.Home, out.Fault = "", "the token is missing or wrong: give it as the password, and any name"
		}
		if e.RetryAfter > 0 {
			w.Header().Set("Retry-After", e.RetryAfterSeconds())
		}
	}
	out.send(w, code)
}

// answer fills the page that a path asks for, below /ui/: "", NAME or NAME/VERSION.
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
		return &serve.Error{Code: protocol.MethodNotAllowed, Message: "method: must be one of " + strings.Join(methods, ", ") + ", got " + r.Method}
	}
	if path == "" {
		out.list(p.server.Status())
		return nil
	}
	name, version, _ := strings.Cut(path, "/")
	given, err := values(r)
	if err != nil {
		return err
	}
	m, err := p.server.Model(name, version)
	if err != nil {
		return err
	}
	out.Title, out.Model = m.Name, &shown{Lead: lead(m), Versions: others(p.server.Versions(name), m, version)}
	return out.Model.fill(r.Context(), p.server, m, given)
}

// values returns the values that a form has sent, by the names of its fields.
func values(r *http.Request) (url.Values, error) {
	text := r.URL.RawQuery
	if r.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
			return nil, &serve.Error{Code: protocol.UnsupportedMediaType, Message: "content type: must be application/x-www-form-urlencoded"}
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, protocol.MaxPageBytes+1))
		switch {
		case len(body) >= protocol.MaxPageBytes:
			return nil, &serve.Error{Code: protocol.TooLarge, Message: fmt.Sprintf("the form has more than %d bytes", protocol.MaxPageBytes)}
		case err != nil:
			return nil, &serve.Error{Code: protocol.RequestTimeout, Message: "the form did not come whole"}
		}
		text = string(body)
	}
	// Browsers send the end of a line as two characters.
	out, err := url.ParseQuery(strings.NewReplacer("%0D%0A", "%0A", "%0d%0a", "%0A").Replace(text))
	if err != nil {
		return nil, &serve.Error{Code: protocol.InvalidArgument, Message: "cannot parse the form data: must be NAME=VALUE&NAME=VALUE"}
	}
	return out, nil
}
