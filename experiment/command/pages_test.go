package command

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// quotedPages lists the pages that show the output of commands.
var quotedPages = []string{"README.md", "docs/getting-started.md", "docs/experiment-file.md", "docs/custom-steps.md",
	"docs/evaluating-runs.md", "docs/explaining.md", "examples/README.md"}

// TestPages runs every command shown in the documentation and compares its output with the page.
// Times, memory sizes, versions and the last digit of numbers, which depends on the processor, may
// differ. With -update the pages are rewritten except for lines that already agree.
func TestPages(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("it runs whole searches")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	pages, seen := 0, 0
	for _, name := range quotedPages {
		t.Run(name, func(t *testing.T) {
			pages++
			dir := t.TempDir()
			t.Chdir(dir)
			prepare(t, root)
			p := &quotedPage{t: t, root: root, dir: dir, lines: strings.Split(content(t, filepath.Join(root, name)), "\n")}
			for i := 0; i < len(p.lines); i++ {
				if indent, command, ok := prompt(p.lines[i]); ok {
					seen++
					p.holds(i+1, indent, command)
				} else if command, first, ok := p.pasted(i); ok {
					seen++
					p.holds(first, "", command)
				}
			}
			p.draft()
			if *update {
				put(t, filepath.Join(root, name), strings.Join(p.lines, "\n"))
			}
		})
	}
	if pages == len(quotedPages) && seen < 15 {
		t.Errorf("only %d commands found: the pattern is wrong", seen)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// prepare creates the files that the pages assume.
func prepare(t *testing.T, root string) {
	t.Helper()
	if err := os.Symlink(filepath.Join(root, "examples"), "examples"); err != nil {
		t.Skip(err)
	}
	packed, err := gzip.NewReader(strings.NewReader(content(t, filepath.Join(root, "examples/power/power.csv.gz"))))
	if err != nil {
		t.Fatal(err)
	}
	power, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	put(t, "power.csv", string(power))
	_, rest, _ := strings.Cut(content(t, filepath.Join(root, "docs/experiment-file.md")), "$ cat bad.yaml\n")
	bad, _, found := strings.Cut(rest, "$ ")
	if !found {
		t.Fatal("docs/experiment-file.md shows no bad.yaml")
	}
	put(t, "bad.yaml", bad)
}

var promptLine = regexp.MustCompile(`^( *)\$ (.*)$`)

// prompt reads a line that shows a command.
func prompt(line string) (indent, command string, ok bool) {
	m := promptLine.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// pasted reads a block of shell commands for pasting that ends in line i and is followed by the first
// lines of its output. It returns the last command, limited to that many lines, and where they begin.
func (p *quotedPage) pasted(i int) (command string, first int, ok bool) {
	if !strings.HasPrefix(p.lines[i], "go run ./cmd/bochner ") ||
		!slices.Equal(p.lines[i+1:min(i+4, len(p.lines))], []string{"```", "", "```text"}) {
		return "", 0, false
	}
	first = i + 4
	shown := slices.Index(p.lines[first:], "```")
	return fmt.Sprintf("%s | head -%d", p.lines[i], shown), first, true
}

// quotedPage is a page whose commands are run sequentially in one directory.
type quotedPage struct {
	t         *testing.T
	root, dir string
	lines     []string
}

// holds runs a command and compares its output with the lines of the page from the first one on.
func (p *quotedPage) holds(first int, indent, command string) {
	last := first
	for last < len(p.lines) {
		line := p.lines[last]
		if _, _, next := prompt(line); next || strings.HasPrefix(line, "```") || line != "" &&
			!strings.HasPrefix(line, indent) {
			break
		}
		last++
	}
	for last > first && p.lines[last-1] == "" {
		last--
	}
	if first == last && !strings.Contains(command, ">") || strings.Contains(command, "examples/golearn") {
		return // the output is not shown; golearn's folds are random
	}
	var want []string
	for _, line := range p.lines[first:last] {
		want = append(want, strings.TrimPrefix(line, indent))
	}
	got := p.run(command)
	if !p.compare(command, got, want) {
		for i, line := range got {
			if line != "" {
				got[i] = indent + line
			}
		}
		p.lines = append(p.lines[:first:first], append(got, p.lines[last:]...)...)
	}
}

// compare reports whether all lines agree. It keeps equal quoted lines and returns the differing
// ones.
func (p *quotedPage) compare(what string, got, want []string) bool {
	same := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		if agree(got[i], want[i]) {
			got[i] = want[i]
		} else {
			same = false
		}
	}
	if !same && !*update {
		p.t.Errorf("%s prints\n%s\nthe page shows\n%s\n(go test ./experiment/command -run TestPages -update writes it)", what,
			strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return same
}

// run runs a command as a reader would and returns its output lines, with the error message if it
// fails.
func (p *quotedPage) run(command string) []string {
	script := strings.NewReplacer("./bochner", "bochner", "go run ./cmd/bochner", "bochner").Replace(command)
	if example, ok := strings.CutPrefix(command, "go run ./examples/"); ok {
		script = fmt.Sprintf("go build -C '%s' -o '%s/example' ./examples/%s && ./example", p.root, p.dir, example)
	}
	path, err := exec.LookPath("sh")
	if err != nil {
		p.t.Skip("there is no sh")
	}
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	bin := filepath.Join(p.dir, "bin")
	os.Mkdir(bin, 0o755)
	os.Symlink(self, filepath.Join(bin, "bochner"))
	c := exec.Command(path, "-c", script)
	c.Env = append(os.Environ(), asCommand+"=yes", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if c.Run() != nil {
		out.Write(errs.Bytes()) // else it is the progress of the work
	}
	text := strings.TrimRight(out.String(), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

const draftBegins = "# An experiment on "

// draft compares the experiment that a page shows with the one that init has written.
func (p *quotedPage) draft() {
	for i, line := range p.lines {
		if !strings.HasPrefix(line, draftBegins) {
			continue
		}
		last := i
		for p.lines[last] != "```" {
			last++
		}
		base, _, _ := strings.Cut(strings.TrimPrefix(line, draftBegins), ".")
		got := strings.Split(strings.TrimSuffix(content(p.t, base+".yaml"), "\n"), "\n")
		if !p.compare("init", got, p.lines[i:last]) {
			p.lines = append(p.lines[:i:i], append(got, p.lines[last:]...)...)
		}
		return
	}
}

var (
	number = regexp.MustCompile(`\d+(\.\d+)?(e[-+]\d+)?`)
	// output that depends on the host: speed, memory, Go version
	machine = regexp.MustCompile(`^time +.* without the report.*|^shared +.*|^memory +about .*|\d+(\.\d+)? ([KMGT]iB|s\b)|(load|search|refit|evaluate|report) \d+\.\d|go1\.[.\d]+`)
	blanks  = regexp.MustCompile(` +`)
)

// agree reports whether two lines are equal up to host-dependent values and one unit in the last
// digit of decimals. Integers must be equal.
func agree(got, want string) bool {
	plain := func(line string) string {
		return blanks.ReplaceAllString(machine.ReplaceAllString(line, "…"), " ")
	}
	got, want = plain(got), plain(want)
	a, b := number.FindAllString(got, -1), number.FindAllString(want, -1)
	if number.ReplaceAllString(got, "#") != number.ReplaceAllString(want, "#") || len(a) != len(b) {
		return false
	}
	for i := range a {
		if !near(a[i], b[i]) {
			return false
		}
	}
	return true
}

// near compares two numbers in their decimal representation.
func near(got, want string) bool {
	a, err := strconv.ParseFloat(got, 64)
	if err != nil {
		return false
	}
	b, err := strconv.ParseFloat(want, 64)
	if err != nil {
		return false
	}
	if !strings.ContainsAny(want, ".e") {
		return got == want
	}
	mantissa, exponent, _ := strings.Cut(want, "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	power, _ := strconv.Atoi(exponent)
	unit := math.Pow(10, float64(power-len(decimals)))
	return math.Abs(a-b) <= max(1.01*unit, 1e-6*math.Abs(b))
}

// TestAgree checks that the comparison ignores only output that depends on the host.
func TestAgree(t *testing.T) {
	for _, test := range []struct {
		got, want string
		same      bool
	}{
		{"r2  0.9453 ± 0.00215", "r2 0.9454 ± 0.00215", true},
		{"r2  0.9453", "r2  0.9455", false},
		{"12 candidates", "13 candidates", false},
		{"2.5 s, of which load 0.0, search 2.3; at most 132.7 MiB of memory",
			"9.1 s, of which load 0.4, search 8.3; at most 1.2 GiB of memory", true},
		{"rff.gamma    0.8", "rff.gamma  0.1", false},
		{"time  about 3 s without the report, extrapolated from 0.6 s for 2000 rows",
			"time  40 s to 4 min without the report, extrapolated from 0.5 s for 500 rows", true},
		{"0,481.31711174588565", "0,481.31711174601", true},
		{"0,481.3172", "0,481.31711174588565", true},
		{"0,481.3192", "0,481.31711174588565", false},
		{"made by  bochner devel, go1.26.8", "made by  bochner devel, go1.27", true},
		{"a b", "a c", false},
	} {
		if agree(test.got, test.want) != test.same {
			t.Errorf("%q and %q: %v, want %v", test.got, test.want, !test.same, test.same)
		}
	}
}
