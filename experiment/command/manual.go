package command

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// manCommand writes the manual pages.
type manCommand struct {
	Folder string `arg:"" files:"" help:"Output directory; created if missing."`
}

func (manCommand) Help() string {
	return `Writes a page for bochner and one for each of its commands, in the format of man. The command manpath
prints the directories that man searches.

Example: bochner man ~/.local/share/man/man1`
}

func (c manCommand) Run(s *session, k *kong.Kong) error {
	if err := os.MkdirAll(c.Folder, 0o755); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	pages, err := manual(k.Model.Node, versionOf(info))
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(pages))
	for _, name := range names {
		if err := files.ReplaceText(filepath.Join(c.Folder, name), []byte(pages[name])); err != nil {
			return err
		}
	}
	if s.json {
		return s.print(map[string]any{"folder": c.Folder, "files": names})
	}
	s.printf("%d manual pages written to %s\n", len(names), c.Folder)
	return nil
}

// manualText is the template of a manual page, in roff.
//
//go:embed manual.roff
var manualText string

// page is the content of the manual page of a command.
type page struct {
	Node                *kong.Node
	Path, Page          string // such as "bochner shard fit" and "bochner-shard-fit"
	Date, Version       string
	Name, Summary       string
	Paragraphs, Related []string
	Examples            []string // command lines
	Children            []*kong.Node
	Flags               []*kong.Flag // of the command, then the global ones
}

// pageName returns the name of the manual page of a command.
func pageName(node *kong.Node) string { return strings.ReplaceAll(node.FullPath(), " ", "-") }

// manual returns the pages of a command and of all that are below it, by the names of their files. The date is that
// of the revision, where the build knows it, so that the same sources make the same pages.
func manual(node *kong.Node, v version) (map[string]string, error) {
	summary, detail, _ := strings.Cut(node.Help+"\n\n"+node.Detail, "\n\n")
	p := page{Node: node, Path: node.FullPath(), Page: pageName(node), Version: "bochner " + v.Bochner,
		Name: strings.TrimSuffix(summary, "."), Summary: summary}
	p.Date, _, _ = strings.Cut(v.Time, "T")
	for _, paragraph := range strings.Split(detail, "\n\n") {
		paragraph = strings.TrimSpace(paragraph)
		if example, found := strings.CutPrefix(paragraph, "Example:"); found {
			p.Examples = append(p.Examples, strings.TrimSpace(example))
		} else if paragraph != "" {
			p.Paragraphs = append(p.Paragraphs, paragraph)
		}
	}
	visible := func(list []*kong.Node) []*kong.Node {
		return slices.DeleteFunc(slices.Clone(list), func(n *kong.Node) bool { return n.Hidden })
	}
	p.Children = visible(node.Children)
	related := p.Children
	if node.Parent != nil {
		related = slices.Concat([]*kong.Node{node.Parent}, visible(node.Parent.Children), related)
	}
	for _, other := range related {
		if other != node {
			p.Related = append(p.Related, pageName(other))
		}
	}
	slices.Sort(p.Related)
	groups := node.AllFlags(true)
	slices.Reverse(groups)
	p.Flags = slices.Concat(groups...)
	var b strings.Builder
	form, err := template.New("manual").Funcs(template.FuncMap{"roff": roff, "upper": strings.ToUpper,
		"quote": func(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` },
	}).Parse(manualText)
	if err == nil {
		err = form.Execute(&b, p)
	}
	out := map[string]string{p.Page + ".1": b.String()}
	for _, child := range p.Children {
		below, wrong := manual(child, v)
		maps.Copy(out, below)
		err = errors.Join(err, wrong)
	}
	return out, err
}

// roffEscapes are the characters that roff would change or take for commands.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`, "`", `\(ga`, "'", `\(aq`)

// roff escapes text so that it is printed verbatim: hyphens can be copied, and a line that begins
// with a dot or a quote is not a request.
func roff(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		for _, r := range roffEscapes.Replace(line) {
			if r > '~' {
				fmt.Fprintf(&b, `\[u%04X]`, r)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
