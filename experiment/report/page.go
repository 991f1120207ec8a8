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

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageText))
})

// page is the data of the template.
type page struct {
	Title    string
	Style    template.CSS
	Tiles    []tile
	Summary  []string
	Warnings []string
	Sections []section
	Footer   string
}

// section is a part of the page with a heading.
type section struct {
	ID, Title string
	Text      []string
	Figures   []figure
	Tables    []table
	Details   []details
	Sources   []link // links to result.json
}

// figure is an SVG with a title. A wide figure spans the page and scrolls; a tall one spans two rows.
type figure struct {
	Title string
	SVG   template.HTML
	Wide  bool
	Tall  bool
}

// table is a table; the first cell of a row is its header.
type table struct {
	Caption string
	Head    []string
	Rows    [][]string
}

// details is a collapsed text.
type details struct{ Title, Text string }

// link is a relative link.
type link struct{ Name, Href string }

// render executes the template.
func render(p page) (Page, error) {
	p.Style = template.CSS(style)
	var b strings.Builder
	if err := pageTemplate().Execute(&b, p); err != nil {
		return Page{}, fmt.Errorf("report: %w", err)
	}
	return Page{b.String(), p.Sections}, nil
}

// Page is a report. Notebooks display it automatically.
type Page struct {
	text     string
	sections []section
}

// String returns the HTML document.
func (p Page) String() string { return p.text }

// HTML returns an iframe that contains the page, which isolates its style from that of the
// notebook.
func (p Page) HTML() string {
	return `<iframe title="report" style="width:100%;height:48rem;border:1px solid #ccc" srcdoc="` +
		html.EscapeString(p.text) + `"></iframe>`
}

// WriteTo writes the HTML document.
func (p Page) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, p.text)
	if err != nil {
		err = fmt.Errorf("report: %w", err)
	}
	return int64(n), err
}

// resultLinks returns links to parts of result.json.
func resultLinks(paths ...string) (out []link) {
	for _, p := range paths {
		out = append(out, link{"result.json: " + p, "result.json#/" + p})
	}
	return out
}
