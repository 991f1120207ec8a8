// Package ui is a page for people to try models that package serve serves:
//
//	models.Mount(ui.New(models)) // at / and below /ui/
//
// There is a page that lists the models, and one for each with a form that is made from its schema and the profile of
// its training rows. What is filled in comes back with the prediction and with what each input has to do with it: how far
// the prediction moves when this input alone is put back to its typical value.
//
// Pages are plain HTML with a style of their own. They have no script, refer to no other host, and tell browsers to run and
// load nothing. A row is in the address of its page, so that it can be sent to somebody, unless a model has too many inputs
// for that.
package ui

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bochner-ml/bochner/serve"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// policy forbids a browser everything that pages do not need: scripts, and whatever comes from elsewhere.
var policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// pages answers for a server of models.
type pages struct{ server *serve.Server }

// New returns the pages of a server, for [serve.Server.Mount]. Where the server wants a token, a browser asks for it as a
// password, of whatever name.
func New(s *serve.Server) http.Handler { return pages{s} }

// page is what the template is filled with.
type page struct {
	Title  string
	Style  template.CSS
	Home   string // the way to the list of models; "" on it
	Fault  string // what is wrong with the request as a whole
	Listed []listed
	List   bool
	Model  *shown
}

// listed is a model in the list.
type listed struct {
	Name, Href, Task, Version, Loaded, Status string
}

// shown is a model on its page.
type shown struct {
	Lead     []string
	Versions []link
	Note     string // why there is no form
	Form     *form
	Result   *result
}

// link leads to another page.
type link struct{ Name, Href string }

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
		if e.Code == serve.Unauthenticated {
			w.Header().Set("WWW-Authenticate", `Basic realm="bochner", charset="UTF-8"`)
			out.Home, out.Fault = "", "the token is missing or wrong: give it as the password, and any name"
		}
		if e.Retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((e.Retry+time.Second-1)/time.Second)))
		}
	}
	out.send(w, code)
}

// send writes the page.
func (p page) send(w http.ResponseWriter, code int) {
	p.Style = template.CSS(style)
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		panic(fmt.Sprintf("ui: %v", err)) // a fault of the template, which the server logs
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer") // an address may have a row in it
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(code)
	w.Write(b.Bytes()) // nobody is there to be told an error
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
		return &serve.Error{Code: serve.Method, Message: "wanted one of the methods " + strings.Join(methods, ", ")}
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
	s, err := p.server.Snapshot(name, version)
	if err != nil {
		return err
	}
	out.Title, out.Model = s.Name(), &shown{Lead: lead(s), Versions: p.others(s, version)}
	return out.Model.fill(r.Context(), s, given)
}

// values are what a form has sent, by the names of its fields; none where it has sent nothing.
func values(r *http.Request) (url.Values, error) {
	text := r.URL.RawQuery
	if r.Method == http.MethodPost {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" {
			return nil, &serve.Error{Code: serve.Unsupported, Message: "wanted the content type application/x-www-form-urlencoded"}
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, serve.MaxPage+1))
		switch {
		case len(body) >= serve.MaxPage:
			return nil, &serve.Error{Code: serve.TooLarge, Message: fmt.Sprintf("the form has more than %d bytes", serve.MaxPage)}
		case err != nil:
			return nil, &serve.Error{Code: serve.Slow, Message: "the form did not come whole"}
		}
		text = string(body)
	}
	// Browsers send the end of a line as two letters.
	out, err := url.ParseQuery(strings.NewReplacer("%0D%0A", "%0A", "%0d%0a", "%0A").Replace(text))
	if err != nil {
		return nil, &serve.Error{Code: serve.Invalid, Message: "what the form has sent cannot be read: wanted NAME=VALUE&NAME=VALUE"}
	}
	return out, nil
}

// list fills in the list of models.
func (p *page) list(status []serve.ModelStatus) {
	p.Home, p.List = "", true
	for _, m := range status {
		one := listed{Name: m.Name, Task: m.Task, Version: m.Version, Status: "ready"}
		for _, v := range m.Versions {
			if v.Version == m.Version {
				one.Loaded = readable(v.Loaded)
			}
			if v.Error != "" {
				one.Status = "version " + v.Version + ": " + v.Error
				if v.Ready {
					one.Status += "; the one before is served"
				}
			}
		}
		if m.Ready {
			one.Href = "./" + url.PathEscape(m.Name)
		} else if one.Status == "ready" {
			one.Status = "not loaded yet"
		}
		p.Listed = append(p.Listed, one)
	}
}

// readable writes a time of the JSON answers for people.
func readable(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// others are the ways to the versions of a model, where there are several.
func (p pages) others(s serve.Snapshot, asked string) (out []link) {
	for _, m := range p.server.Status() {
		if m.Name != s.Name() || len(m.Versions) < 2 {
			continue
		}
		for _, v := range m.Versions {
			if !v.Ready {
				continue
			}
			href := "./" + url.PathEscape(v.Version)
			if asked == "" {
				href = "./" + url.PathEscape(s.Name()) + "/" + url.PathEscape(v.Version)
			}
			if v.Version == s.Version() {
				href = "" // this one
			}
			out = append(out, link{v.Version, href})
		}
	}
	return out
}
