// Package docs_test checks the pages against the code: quoted code, links, the reference, and the
// validity of experiments.
package docs_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"flag"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// With -update the reference is written into its page.
var update = flag.Bool("update", false, "write the reference into reference.md")

// pages returns the text of every page by its path from the module's root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"../*.md", "*.md", "../examples/*.md", "../examples/*/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[filepath.Join("docs", file)] = string(text)
		}
	}
	if len(out) < 8 {
		t.Fatalf("only %d pages found: the walk is wrong", len(out))
	}
	return out
}

// TestFigures checks that the README quotes the figures of the measured tables.
func TestFigures(t *testing.T) {
	text := pages(t)
	find := func(page, pattern string) []string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text[page])
		if m == nil {
			t.Fatalf("%s has no %s", page, pattern)
		}
		return m[1:]
	}
	seconds := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	measured := find("docs/performance.md", `\| grid search, 5 γ × 10 α × 5 folds \| ([\d.]+), \d+ \| ([\d.]+), `)
	quoted := find("README.md", `\| grid search, .* \| ([\d.]+) s \| – \| \[([\d.]+) s\]`)
	for k, v := range quoted {
		if m := seconds(measured[k]); math.Abs(seconds(v)-m) > 0.005*m {
			t.Errorf("the README has %s s, the measured table %s s", v, measured[k])
		}
	}
	best, count := "", 0.0
	rows := regexp.MustCompile(`\| (\w+) \| [^|]+ \| [^|]+ \| ([\d.]+) \| [\d.]+ \| [\d.]+ \| \d+ \| (\d+) \| \d+ \| (\d+) \|`)
	behind := ""
	for _, m := range rows.FindAllStringSubmatch(text["docs/benchmarks.md"], -1) {
		if v := seconds(m[2]); best == "" || v < count {
			best, count = m[1], v
		}
		if m[1] == "bochner" {
			behind = m[3]
			if sets := find("README.md", `best mean rank on (\d+) sets`)[0]; sets != m[4] {
				t.Errorf("the README has %s sets, the table %s", sets, m[4])
			}
		}
	}
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
	better := find("README.md", `better on (\w+) of the`)[0]
	if n, err := strconv.Atoi(behind); best != "bochner" || err != nil || n >= len(words) || better != words[n] {
		t.Errorf("the README has %s sets behind, the table %q; the best mean rank is that of %s", better, behind, best)
	}
}

var quote = regexp.MustCompile("(?s)<!-- quoted from (\\S+) -->\n```\\w+\n(.*?)```")

// TestQuotes checks that quotes of files match them verbatim.
func TestQuotes(t *testing.T) {
	quotes := 0
	for page, text := range pages(t) {
		for _, m := range quote.FindAllStringSubmatch(text, -1) {
			quotes++
			source, err := os.ReadFile(filepath.Join("..", m[1]))
			if err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			if !strings.Contains(string(source), m[2]) {
				t.Errorf("%s: this is not in %s:\n%s", page, m[1], m[2])
			}
		}
		if strings.Count(text, "<!-- quoted from") != len(quote.FindAllString(text, -1)) {
			t.Errorf("%s: a quote is not followed by a block of code", page)
		}
	}
	if quotes < 10 {
		t.Errorf("only %d quotes found: the pattern is wrong", quotes)
	}
}

var (
	link    = regexp.MustCompile(`(?:\]\(|src="|srcset=")([^)"\s]+)[)"]`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the anchors of a page's headings.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(name, " ", "-")] = true
	}
	return out
}

// A link within the repository leads to a file, and its anchor to a heading.
func TestLinks(t *testing.T) {
	all := pages(t)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			path, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
			if anchor != "" && !anchors(all[target])[anchor] {
				t.Errorf("%s links to %s: there is no such heading", page, m[1])
			}
		}
	}
}

var path = regexp.MustCompile("`([a-z_]+(?:/[a-z_]+)+(?:\\.(?:go|yaml|md))?)`")

// Every path that CONTRIBUTING names exists.
func TestPaths(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	found := path.FindAllStringSubmatch(string(text), -1)
	if len(found) < 15 {
		t.Errorf("only %d paths found: the pattern is wrong", len(found))
	}
	for _, p := range found {
		if _, err := os.Stat(filepath.Join("..", p[1])); err != nil {
			t.Errorf("CONTRIBUTING.md: %v", err)
		}
	}
}

// CONTRIBUTING names every top-level directory with packages.
func TestContributingNamesPackages(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	direct, _ := filepath.Glob("../*/*.go")
	below, _ := filepath.Glob("../*/*/*.go")
	tops := map[string]bool{}
	for _, file := range append(direct, below...) {
		tops[strings.Split(filepath.ToSlash(file), "/")[1]] = true
	}
	if len(tops) < 15 {
		t.Errorf("only %d directories found: the pattern is wrong", len(tops))
	}
	for top := range tops {
		if !strings.Contains(string(text), "`"+top+"`") && !strings.Contains(string(text), "`"+top+"/") {
			t.Errorf("CONTRIBUTING.md does not name %s", top)
		}
	}
}

// TestListsNameEveryStep checks that the lists name every step and model.
func TestListsNameEveryStep(t *testing.T) {
	for page, list := range map[string]string{"docs/which-model.md": "## Steps and models",
		"docs/coming-from-scikit-learn.md": "## Steps and models"} {
		_, text, found := strings.Cut(pages(t)[page], list)
		if !found {
			t.Fatalf("%s has no part %q", page, list)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		for _, e := range pipeline.Registered() {
			if !regexp.MustCompile("`" + e.Name + "[`:]").MatchString(text) {
				t.Errorf("%s, %s: %s is missing", page, list, e.Name)
			}
		}
	}
}

const (
	begin = "<!-- reference: begin -->\n"
	end   = "<!-- reference: end -->"
)

// TestReference checks that the tables of keys, steps and parameters match the declarations in the
// code.
func TestReference(t *testing.T) {
	const page = "reference.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	given, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the reference", page)
	}
	want := "\n" + experiment.Reference() + "\n"
	if given == want {
		return
	}
	if !*update {
		t.Fatalf("the reference in %s is not that of the code; go test ./docs -update writes it", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

var block = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// noDriver is a driver of a database that no test opens.
type noDriver struct{}

func (noDriver) Open(string) (driver.Conn, error) { return nil, errors.New("no connection is made") }

// TestExperiments checks that the quoted experiments and fragments are valid, except for data files
// of the reader. Those with steps of examples/ownstep are tested there.
func TestExperiments(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://reader@localhost/rents")
	sql.Register("pgx", noDriver{})
	seen := 0
	for page, text := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "class_means") {
				continue
			}
			seen++
			_, err := experiment.Parse(context.Background(), page, []byte(whole(m[1])))
			complain(t, page, err)
		}
	}
	if seen < 10 {
		t.Errorf("only %d experiments found: the pattern is wrong", seen)
	}
}

// TestExampleFiles checks that the example files are valid, including those with data outside the
// repository.
func TestExampleFiles(t *testing.T) {
	files, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("only %d example files found, %v", len(files), err)
	}
	for _, file := range files {
		_, err := experiment.Load(context.Background(), file)
		complain(t, file, err)
	}
}

// complain reports an error, unless it is only about missing data.
func complain(t *testing.T, where string, err error) {
	t.Helper()
	var errs param.FieldErrors
	if err != nil && !errors.As(err, &errs) {
		t.Errorf("%s: %v", where, err)
	}
	for _, f := range errs {
		if !errors.Is(f, fs.ErrNotExist) {
			t.Errorf("%s: %v", where, f)
		}
	}
}

// whole completes a fragment of an experiment.
func whole(part string) string {
	has := func(key string) bool {
		return strings.HasPrefix(part, key+":") || strings.Contains(part, "\n"+key+":")
	}
	if strings.HasPrefix(part, "- ") {
		part = "pipeline:\n" + part + "\n- ridge\n"
	}
	if !has("data") {
		part += "\ndata: {train: rows.csv}\n" // a reader's own
	}
	if !has("pipeline") {
		part += "\npipeline: [standardize, rff, " + map[bool]string{true: "logistic",
			false: "ridge"}[strings.Contains(part, "logistic.") || strings.Contains(part, "dataset: wine")] + "]\n"
	}
	return part
}

// Text in figures has a fixed length for any font.
func TestPicturesDoNotDependOnFonts(t *testing.T) {
	files, err := filepath.Glob("*.svg")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	strs := regexp.MustCompile(`<text[^>]*>`)
	for _, name := range files {
		picture, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, element := range strs.FindAllString(string(picture), -1) {
			if !strings.Contains(element, "textLength=") {
				t.Errorf("%s: %s has no length of its own", name, element)
			}
		}
	}
}

var quotedMessage = regexp.MustCompile("(?m)^\\| `([^\n|]+)` \\|")

// TestMessages checks that the messages of troubleshooting.md are those of the command or of its source.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	messages, err := os.ReadFile("../experiment/command/testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := strings.Split(string(messages), "\n")
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		known = append(known, strings.Split(string(text), "\n")...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	quoted := quotedMessage.FindAllStringSubmatch(string(page), -1)
	for _, m := range quoted {
		parts := strings.Split(m[1], "…")
		if !slices.ContainsFunc(known, func(line string) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
		}) {
			t.Errorf("no message contains %q", m[1])
		}
	}
	if len(quoted) < 30 {
		t.Errorf("only %d messages found: the pattern is wrong", len(quoted))
	}
}

// glossaryTerms are terms that each page links to the glossary at their first use in prose.
var glossaryTerms = []string{"kernels?", "(?:random )?features?", "γ", "D", "[Rr]idge", "folds?", "[Cc]onformal", "PSI",
	"Gram matri(?:x|ces)"}

var (
	notProse = regexp.MustCompile("(?ms)^```.*?^```$|^(?:#|    |\\||<|!\\[)[^\n]*$|`[^`\n]*`|\\]\\([^)]*\\)")
	inLink   = regexp.MustCompile(`\[[^\]]*\]§`)
)

// TestGlossaryLinks checks that pages link terms to the glossary at their first use.
func TestGlossaryLinks(t *testing.T) {
	links := 0
	for page, text := range pages(t) {
		if !strings.HasPrefix(page, "docs/") || slices.Contains([]string{"docs/glossary.md", "docs/reference.md",
			"docs/paper.md", "docs/benchmarks.md"}, page) {
			continue
		}
		text = strings.ReplaceAll(text, "](glossary.md)", "]†")
		text = notProse.ReplaceAllStringFunc(text, func(s string) string {
			if strings.HasPrefix(s, "](") {
				return "]§"
			}
			return "\n"
		})
		text = inLink.ReplaceAllString(text, "")
		for _, term := range glossaryTerms {
			first := regexp.MustCompile(`(?:^|[^\p{L}\p{N}_-])(` + term + `)(?:[^\p{L}\p{N}_-]|$)`).FindStringSubmatchIndex(text)
			if first == nil {
				continue
			}
			links++
			if !strings.HasPrefix(text[first[3]:], "]†") {
				t.Errorf("%s: the first %q is not linked to the glossary: …%s", page, text[first[2]:first[3]],
					strings.ReplaceAll(text[first[2]:min(first[3]+40, len(text))], "\n", " "))
			}
		}
	}
	if links < 60 {
		t.Errorf("only %d terms found: the pattern is wrong", links)
	}
}

// TestPagesAreShort bounds the words of all pages but the reference, which is generated.
func TestPagesAreShort(t *testing.T) {
	words := 0
	for page, text := range pages(t) {
		if strings.HasPrefix(page, "docs/") && page != "docs/reference.md" {
			words += len(strings.Fields(text))
		}
	}
	if words > 34000 {
		t.Errorf("the pages have %d words, want at most 34000: remove what another page explains", words)
	}
}
