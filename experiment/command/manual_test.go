package command

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// commandLine is the command line as kong has read it.
func commandLine(t *testing.T) *kong.Node {
	t.Helper()
	k, err := parserOf(&commands{}, &strings.Builder{}, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	return k.Model.Node
}

// visible returns a command and all below it that help shows.
func visible(node *kong.Node) []*kong.Node {
	out := []*kong.Node{node}
	for _, child := range node.Children {
		if !child.Hidden {
			out = append(out, visible(child)...)
		}
	}
	return out
}

// request matches roff requests supported by man; escape matches escape sequences.
var (
	request = regexp.MustCompile(`^\.(TH|SH|PP|TP|RS 4|RE|nf|fi|BR)\b`)
	escape  = regexp.MustCompile(`\\(f[BIR]|e|-|&[.']|\((ti|ha|ga|aq|dq)|\[u[0-9A-F]{4,6}\])`)
)

// Each command has a page, with its flags, arguments and examples, and man can read it.
func TestManual(t *testing.T) {
	t.Chdir(t.TempDir())
	root := commandLine(t)
	call(t, success, "man pages")
	pages, _ := filepath.Glob("pages/*.1")
	nodes := visible(root)
	if len(pages) != len(nodes) {
		t.Errorf("%d pages of %d commands", len(pages), len(nodes))
	}
	for _, node := range nodes {
		text := content(t, "pages/"+strings.ReplaceAll(node.FullPath(), " ", "-")+".1")
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				has(t, text, `\fB`+roff("--"+f.Name)+`\fR`)
			}
		}
		for _, a := range node.Positional {
			has(t, text, ".TP\n\\fI"+roff(a.Name)+"\\fR\n")
		}
		has(t, text, ".SH NAME\n", ".SH SYNOPSIS\n\\fB"+roff(node.FullPath())+"\\fR\n")
		if strings.Contains(node.Detail, "Example:") {
			has(t, text, ".SH EXAMPLES\n.RS 4\n.nf\n")
		}
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, ".") && !request.MatchString(line) || strings.HasPrefix(line, "'") ||
				strings.Contains(escape.ReplaceAllString(line, ""), `\`) {
				t.Errorf("%s:%d: man does not know %q", node.FullPath(), i+1, line)
			}
		}
	}
	call(t, success, "man pages") // over those that are there
	if mandoc, err := exec.LookPath("mandoc"); err == nil {
		got, _ := exec.Command(mandoc, append([]string{"-Tlint", "-W", "warning"}, pages...)...).CombinedOutput()
		for line := range strings.Lines(string(got)) {
			if !strings.Contains(line, "missing date") { // a test knows no revision
				t.Error(line)
			}
		}
	}
}

// TestRoff checks that special characters of roff are escaped.
func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".csv":         `\&.csv`,
		"'a'":          `\&\(aqa\(aq`,
		"a.b":          "a.b",
		`written \,`:   `written \e,`,
		"--set γ=1e-3": `\-\-set \[u03B3]=1e\-3`,
		"~/x^2 `y`":    `\(ti/x\(ha2 \(gay\(ga`,
	} {
		if got := roff(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestAllIsCompleted checks that everything that help shows can be completed: commands, flags,
// enumerated values, and files.
func TestAllIsCompleted(t *testing.T) {
	root := commandLine(t)
	for _, node := range visible(root) {
		words := strings.Fields(node.Path())
		offered := func(word string) []string {
			var out []string
			for _, line := range completions(root, words, word) {
				name, _, _ := strings.Cut(line, "\t")
				out = append(out, name)
			}
			return out
		}
		for _, child := range node.Children {
			if !child.Hidden && !slices.Contains(offered(""), child.Name) {
				t.Errorf("%s: no %s", node.FullPath(), child.Name)
			}
		}
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				if !slices.Contains(offered("--"), "--"+f.Name) {
					t.Errorf("%s: no --%s", node.FullPath(), f.Name)
				}
				if slices.Contains([]string{"FILE", "FOLDER", "MODEL", "STATE"}, f.PlaceHolder) &&
					!slices.Contains(offered("--"+f.Name+"="), anyFiles) {
					t.Errorf("%s --%s: no files", node.FullPath(), f.Name)
				}
			}
		}
	}
}
