package command

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// manCommand writes the manual pages.
type manCommand struct {
	Folder string `arg:"" files:"" help:"Output directory; created if missing."`
}

func (manCommand) Help() string {
	return `Writes a page for bochner and one for each of its commands, in the form that man reads. Where man looks for them, manpath says.

Example: bochner man ~/.local/share/man/man1`
}

func (c manCommand) Run(s *session, k *kong.Kong) error {
	if err := os.MkdirAll(c.Folder, 0o755); err != nil {
		return err
	}
	info, _ := debug.ReadBuildInfo()
	pages := manual(k.Model.Node, versionOf(info))
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

// manual returns the pages of a command and of all that are below it, by the names of their files. The date is that
// of the revision, where the build knows it, so that the same sources make the same pages.
func manual(node *kong.Node, v version) map[string]string {
	date, _, _ := strings.Cut(v.Time, "T")
	p := &page{node: node}
	p.macro("TH", strings.ToUpper(p.name()), "1", date, "bochner "+v.Bochner, "Bochner")
	p.write()
	out := map[string]string{p.name() + ".1": p.String()}
	for _, child := range node.Children {
		if !child.Hidden {
			maps.Copy(out, manual(child, v))
		}
	}
	return out
}

// page is the manual page of a command, in roff.
type page struct {
	node *kong.Node
	strings.Builder
}

// name returns the name of the manual page, such as bochner-fold-part.
func (p *page) name() string { return strings.ReplaceAll(p.node.FullPath(), " ", "-") }

func (p *page) write() {
	summary, detail, _ := strings.Cut(p.node.Help+"\n\n"+p.node.Detail, "\n\n")
	p.section("NAME")
	p.text(p.name() + " - " + strings.TrimSuffix(summary, "."))
	p.section("SYNOPSIS")
	p.synopsis()
	p.section("DESCRIPTION")
	p.text(summary)
	var examples []string
	for _, paragraph := range strings.Split(detail, "\n\n") {
		if example, found := strings.CutPrefix(strings.TrimSpace(paragraph), "Example:"); found {
			examples = append(examples, example)
		} else {
			p.paragraph(paragraph)
		}
	}
	p.children()
	p.arguments()
	p.flags()
	p.section("EXIT STATUS")
	p.text("0 on success, 1 on failure, which one message on standard error explains, and 2 for a wrong command line.")
	if len(examples) > 0 {
		p.section("EXAMPLES")
		for i, example := range examples {
			if i > 0 {
				p.line(".PP")
			}
			p.example(example)
		}
	}
	p.seeAlso()
}

// synopsis writes the usage line.
func (p *page) synopsis() {
	p.line(`\fB` + roff(p.node.FullPath()) + `\fR`)
	if len(p.node.Children) > 0 {
		p.line(`\fICOMMAND\fR`)
	}
	p.line(`[\fIFLAGS\fR]`)
	for _, a := range p.node.Positional {
		word := `\fI` + roff(a.Name) + `\fR`
		if a.IsSlice() {
			word += " ..."
		}
		if !a.Required {
			word = "[" + word + "]"
		}
		p.line(word)
	}
}

func (p *page) children() {
	if len(p.node.Children) == 0 {
		return
	}
	p.section("COMMANDS")
	for _, child := range p.node.Children {
		if !child.Hidden {
			p.item(`\fB`+roff(child.Name)+`\fR`, child.Help)
		}
	}
}

func (p *page) arguments() {
	if len(p.node.Positional) == 0 {
		return
	}
	p.section("ARGUMENTS")
	for _, a := range p.node.Positional {
		p.item(`\fI`+roff(a.Name)+`\fR`, a.Help)
	}
}

// flags writes the flags of the command, followed by the global ones.
func (p *page) flags() {
	groups := p.node.AllFlags(true)
	slices.Reverse(groups)
	p.section("OPTIONS")
	for _, group := range groups {
		for _, f := range group {
			words := `\fB` + roff("--"+f.Name) + `\fR`
			if f.Tag.Negatable != "" {
				words += `, \fB` + roff("--no-"+f.Name) + `\fR`
			}
			if f.Short != 0 {
				words = `\fB` + roff("-"+string(f.Short)) + `\fR, ` + words
			}
			if !f.IsBool() {
				words += `=\fI` + roff(f.FormatPlaceHolder()) + `\fR`
			}
			help := f.Help
			if f.Required {
				help += " It has to be given."
			}
			p.item(words, help)
		}
	}
}

// seeAlso names the related pages.
func (p *page) seeAlso() {
	p.section("SEE ALSO")
	around := p.node.Children
	var names []string
	if p.node.Parent != nil {
		around = p.node.Parent.Children
		names = append(names, (&page{node: p.node.Parent}).name())
	}
	for _, node := range slices.Concat(around, p.node.Children) {
		if name := (&page{node: node}).name(); !node.Hidden && node != p.node && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		p.line(`.BR ` + roff(name) + ` (1)` + end)
	}
}

// macro writes a roff request with quoted arguments.
func (p *page) macro(name string, args ...string) {
	for i, a := range args {
		args[i] = `"` + strings.ReplaceAll(roff(a), `"`, `\(dq`) + `"`
	}
	p.line("." + name + " " + strings.Join(args, " "))
}

func (p *page) section(title string) { p.line(".SH " + title) }

// paragraph writes text after a blank line.
func (p *page) paragraph(text string) {
	if strings.TrimSpace(text) != "" {
		p.line(".PP")
		p.text(text)
	}
}

// text writes prose, wrapped at about 70 characters.
func (p *page) text(text string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+len(word) >= 70 {
			p.line(roff(line))
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	p.line(roff(line))
}

// item writes a tagged paragraph: a term in roff, with its meaning.
func (p *page) item(term, meaning string) {
	p.line(".TP")
	p.line(term)
	p.text(meaning)
}

// example writes one or several command lines verbatim.
func (p *page) example(text string) {
	p.line(".RS 4")
	p.line(".nf")
	for line := range strings.Lines(strings.TrimSpace(text)) {
		p.line(roff(strings.TrimSpace(line)))
	}
	p.line(".fi")
	p.line(".RE")
}

func (p *page) line(text string) { fmt.Fprintln(p, text) }

// roff escapes text so that it is printed verbatim: hyphens can be copied, and a line that begins
// with a dot or a quote is not a request.
func roff(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
