package report

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"io"
	"strings"
	"sync"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })

// page is what the template is filled with.
type page struct {
	Title    string
	Style    template.CSS
	Lead     []string
	Warnings []string
	Sections []section
	Foot     string
}

// section is a part of the page under one heading.
type section struct {
	ID, Title string
	Text      []string
	Figures   []figure
	Tables    []table
	Folded    []folded
	Source    []link // where its numbers are
}

// figure is a picture. A wide one has the whole width, and is scrolled where that is not enough.
type figure struct {
	Title string
	Drawn template.HTML
	Wide  bool
}

// table is rows of cells, of which the first names the row.
type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// folded is a long text that is opened by who wants it.
type folded struct{ Title, Text string }

// link leads to a file beside the page.
type link struct{ Name, Href string }

// render fills in the template.
func render(p page) (Page, error) {
	p.Style = template.CSS(style)
	var b strings.Builder
	if err := pageTemplate().Execute(&b, p); err != nil {
		return Page{}, fmt.Errorf("report: %w", err)
	}
	return Page{b.String()}, nil
}

// Page is a report as a value that a notebook shows by itself.
type Page struct{ text string }

// String is the whole document.
func (p Page) String() string { return p.text }

// HTML is the page in a frame of its own, whose style and that of the notebook leave each other alone.
func (p Page) HTML() string {
	return `<iframe title="report" style="width:100%;height:48rem;border:1px solid #ccc" srcdoc="` + html.EscapeString(p.text) + `"></iframe>`
}

// WriteTo writes the document.
func (p Page) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, p.text)
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	return int64(n), err
}

// in is where numbers are in result.json.
func in(paths ...string) (out []link) {
	for _, p := range paths {
		out = append(out, link{"result.json: " + p, "result.json#/" + p})
	}
	return out
}
