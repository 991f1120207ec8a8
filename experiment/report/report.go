// Package report renders the results of a run as one HTML page without scripts or external
// resources. The page is responsive, printable and accessible to screen readers.
//
//	found, err := experiment.Run(ctx, spec, experiment.Options{}) // writes report.html to the output directory
//	page, err := report.New(found)                                 // the same page as a value
//	_, err = page.WriteTo(w)
//
// The sections are: summary, scores with baselines, confusion matrix and curves or residuals,
// calibration and intervals, importance and partial dependence, search, learning curves, data, and
// pipeline. Sections without results are omitted. [Page.Pictures] returns the figures separately, for
// notebooks.
package report

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
)

// New returns the report of a run. The output is deterministic.
func New(r result.Result) (Page, error) { return render(pageOf(r)) }

// Picture is a figure of a report.
type Picture struct {
	Section, Title string
	svg            string
}

// SVG returns the figure as SVG. Notebooks display it automatically.
func (p Picture) SVG() string { return p.svg }

// Pictures returns the figures of the page in order.
func (p Page) Pictures() (out []Picture) {
	for _, s := range p.sections {
		for _, f := range s.Figures {
			out = append(out, Picture{Section: s.Title, Title: f.Title, svg: string(f.SVG)})
		}
	}
	return out
}

// pageOf fills the page of a run.
func pageOf(r result.Result) page {
	p := page{Title: r.Name, Tiles: tiles(r), Summary: summary(r), Warnings: r.Warnings, Sections: sections(r)}
	if p.Title == "" {
		p.Title = "a run"
	}
	p.Footer = fmt.Sprintf("bochner %s, %s; seed %d; total time %s", r.Versions.Bochner, r.Versions.Go, r.Seed,
		formatSeconds(r.Seconds.Total))
	if r.Memory > 0 {
		p.Footer += fmt.Sprintf(", peak memory %.0f MiB", float64(r.Memory)/(1<<20))
	}
	return p
}

// sections returns the sections that are not empty.
func sections(r result.Result) (out []section) {
	for _, one := range []func(result.Result) section{scoreSection, classSection, errorSection, uncertaintySection,
		clusters, inputSection, contributionSection, searchSection, curvesSection, dataSection, pipelineSection} {
		s := one(r)
		if len(s.Text)+len(s.Figures)+len(s.Tables) > 0 {
			s.ID = strings.ReplaceAll(strings.ToLower(s.Title), " ", "-")
			out = append(out, s)
		}
	}
	return out
}
