package command

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// needs lists what a block of shell commands may need beyond a checkout, a Go compiler and a shell.
// Such a block follows the comment <!-- needs WORD --> and is not run.
var needs = map[string]string{
	"a cluster":   "Kubernetes, Slurm or Spark",
	"a container": "podman or docker",
	"a database":  "PostgreSQL and psql",
	"a release":   "files or tags of a published version",
	"data":        "data sets outside the repository",
	"minutes":     "measurements that take minutes",
	"modules":     "dependencies of distributed, which are large",
	"packages":    "Python packages",
	"systemd":     "root on a Linux host with systemd",
}

// TestPages runs every command shown in the documentation, page by page in a copy of the checkout,
// and compares shown output with that of the command. Times, memory sizes, versions and the last
// digit of numbers, which depends on the processor, may differ. With -update the pages are rewritten
// except for lines that already agree.
func TestPages(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("it runs whole searches")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, filepath.Join(root, "README.md"), filepath.Join(root, "examples/README.md"))
	pages, seen, left := 0, 0, map[string]int{}
	for _, name := range names {
		t.Run(strings.TrimPrefix(name, root+"/"), func(t *testing.T) {
			pages++
			dir, text := t.TempDir(), content(t, name)
			t.Chdir(dir)
			p := &quotedPage{t: t, name: filepath.Base(name), dir: dir, bin: t.TempDir(), left: left,
				lines: strings.Split(text, "\n")}
			if strings.Contains(text, "```sh\n") || strings.Contains(text, "$ ") {
				clone(t, root, dir)
			}
			p.paste()
			seen += p.seen
			p.draft()
			if *update {
				put(t, name, strings.Join(p.lines, "\n"))
			}
		})
	}
	t.Logf("%d pages, %d commands and blocks; blocks that need more: %v", pages, seen, left)
	if pages != len(names) {
		return
	}
	if seen < 55 {
		t.Errorf("only %d commands found: the pattern is wrong", seen)
	}
	for need := range needs {
		if left[need] == 0 {
			t.Errorf("no block needs %s: remove it from the list", need)
		}
	}
}

// clone copies the checkout into an empty directory, without what a clone does not have.
func clone(t *testing.T, root, dir string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." {
			return err
		}
		switch {
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || rel == "runs"):
			return filepath.SkipDir
		case d.IsDir():
			return os.Mkdir(filepath.Join(dir, rel), 0o755)
		case !d.Type().IsRegular() || filepath.Ext(path) == ".png" || filepath.Ext(path) == ".svg":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, rel), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
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

var promptLine = regexp.MustCompile(`^( *)\$ (.*)$`)

// prompt reads a line that shows a command.
func prompt(line string) (indent, command string, ok bool) {
	m := promptLine.FindStringSubmatch(line)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// quotedPage is a page whose commands are run sequentially in one directory.
type quotedPage struct {
	t        *testing.T
	name     string
	dir, bin string
	left     map[string]int // blocks that are not run, by what they need
	lines    []string
	seen     int
	addr     string // of the server that the page has started
	server   *os.Process
}

var (
	needsMore = regexp.MustCompile("^<!-- needs (.*) -->$")
	saveAs    = regexp.MustCompile("[Ss]ave \\w+ as `([^`]+)`")
	notRun    = regexp.MustCompile(`^    (bochner|go|sh|curl|python3?|pip|psql|podman|docker|git|cd|cp|tar|gzip) `)
)

// paste runs the commands of the page in order.
func (p *quotedPage) paste() {
	need, save, fence := "", "", ""
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		if m := needsMore.FindStringSubmatch(line); m != nil {
			if need = m[1]; needs[need] == "" {
				p.t.Errorf("line %d: %q is not in the list of what blocks may need", i+1, need)
			}
			p.left[need]++
			continue
		}
		if m := saveAs.FindStringSubmatch(p.lines[max(i-1, 0)] + " " + line); m != nil { // on one line or two
			save = m[1]
		}
		language, fenced := strings.CutPrefix(line, "```")
		last := i + 1 + max(slices.Index(p.lines[i+1:], "```"), 0)
		body := strings.Join(p.lines[i+1:last], "\n") + "\n"
		switch {
		case fenced && fence != "":
			fence = ""
		case fenced && need != "":
			need, i = "", last
		case fenced && save != "":
			if err := os.MkdirAll(filepath.Dir(save), 0o755); err != nil {
				p.t.Fatal(err)
			}
			put(p.t, save, body)
			save, i = "", last
		case fenced && language == "sh":
			i = last
			if body == "go test ./...\n" {
				continue // of the README; the gate runs it
			}
			p.seen++
			if _, after, cloned := strings.Cut(body, "\ncd bochner\n"); cloned {
				body = after // the page is in a clone
			}
			if slices.Equal(p.lines[last+1:min(last+3, len(p.lines))], []string{"", "```text"}) { // the first lines of the output
				shown := slices.Index(p.lines[last+3:], "```")
				p.holds(last+3, "", fmt.Sprintf("%s | head -%d", strings.TrimSpace(body), shown))
			} else if out, ok := p.run(body); !ok {
				p.t.Errorf("line %d: the block fails:\n%s\n%s", last, body, strings.Join(out, "\n"))
			}
		case fenced:
			fence = line
		case need != "" && line != "":
			p.t.Errorf("line %d: a comment about needs is not followed by a block", i+1)
		case notRun.MatchString(line) && fence == "" && !strings.HasPrefix(p.name, "README"):
			p.t.Errorf("line %d: nothing runs this command; use ```sh: %s", i+1, line)
		default:
			if indent, command, ok := prompt(line); ok {
				first := i + 1
				for strings.Count(command, "'")%2 == 1 && first < len(p.lines) {
					command += "\n" + strings.TrimPrefix(p.lines[first], indent)
					first++
				}
				p.seen++
				p.holds(first, indent, command)
			}
		}
	}
}

// holds runs a command and compares its output with the lines of the page from the first one on.
// Where the page shows none, the command must succeed.
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
	got, ok := p.run(command)
	if first == last || strings.Contains(command, "examples/golearn") { // golearn's folds are random
		if !ok {
			p.t.Errorf("%s fails:\n%s", command, strings.Join(got, "\n"))
		}
		return
	}
	var want []string
	for _, line := range p.lines[first:last] {
		want = append(want, strings.TrimPrefix(line, indent))
	}
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
	got = slices.DeleteFunc(got, hostLine.MatchString)
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

// run runs commands as a reader would and returns their output lines, with the messages if they
// fail, and whether they succeed. A server that they start in the background listens to a free port
// instead of 8080 and ends with the page.
func (p *quotedPage) run(command string) (lines []string, ok bool) {
	path, err := exec.LookPath("sh")
	if err != nil {
		p.t.Skip("there is no sh")
	}
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	os.Symlink(self, filepath.Join(p.bin, "bochner"))
	script, started := command, strings.HasSuffix(strings.TrimSpace(command), "&")
	if started {
		p.listen()
		script = strings.Replace(script, "bochner serve ", "bochner serve --addr "+p.addr+" ", 1) + "\necho $! >server.pid"
	}
	if p.addr != "" {
		script = strings.ReplaceAll(script, "localhost:8080", p.addr)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), 8*time.Minute) // of a loaded host
	defer cancel()
	c := exec.CommandContext(ctx, path, "-ec", script)
	c.Env = append(os.Environ(), asCommand+"=yes", "PATH="+p.bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GOFLAGS=-buildvcs=false -trimpath") // -trimpath: all copies share what is compiled
	var out [2]*os.File // not pipes, which a server would keep open
	for i := range out {
		if out[i], err = os.CreateTemp(p.bin, "out"); err != nil {
			p.t.Fatal(err)
		}
		defer out[i].Close()
	}
	c.Stdout, c.Stderr = out[0], out[1]
	err = c.Run()
	text := content(p.t, out[0].Name())
	if err != nil || text == "" && strings.Contains(command, "|") {
		text += content(p.t, out[1].Name()) // else it is the progress of the work
	}
	if started {
		p.await()
	}
	text = strings.TrimRight(text, "\n")
	if p.addr != "" {
		text = strings.ReplaceAll(text, p.addr, "localhost:8080")
	}
	if text == "" {
		return nil, err == nil
	}
	lines = strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines, err == nil
}

// listen selects a free port for a server and ends the one before.
func (p *quotedPage) listen() {
	if p.server != nil {
		p.server.Kill()
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		p.t.Fatal(err)
	}
	defer l.Close()
	p.addr = fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port)
}

// await waits for the server that the page has started, and ends it with the test.
func (p *quotedPage) await() {
	var pid int
	if _, err := fmt.Sscan(content(p.t, filepath.Join(p.dir, "server.pid")), &pid); err != nil {
		p.t.Fatal(err)
	}
	server, err := os.FindProcess(pid)
	if err != nil {
		p.t.Fatal(err)
	}
	p.server = server
	p.t.Cleanup(func() { server.Kill() })
	for range 100 {
		if c, err := net.Dial("tcp", p.addr); err == nil {
			c.Close()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.t.Error("the server of the page does not listen")
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
	machine = regexp.MustCompile(`^time +.* without the report.*|^shared +.*|^memory +about .*|\d+(\.\d+)? ([KMGT]iB|s\b)|(load|search|refit|evaluate|report) \d+\.\d|"loaded":"[^"]*","bytes":\d+,"load_seconds":[\d.e-]+|go1\.[.\d]+`)
	// a line that a loaded host adds
	hostLine = regexp.MustCompile(`^unknown +the growth of the time`)
	blanks   = regexp.MustCompile(` +`)
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

var (
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	codeBlock  = regexp.MustCompile("(?s)\n```.*?\n```")
	flagName   = regexp.MustCompile(`(?:^|[\s(])--([a-z][a-z0-9-]*)`)
	keyName    = regexp.MustCompile(`(?:^|[{,\s])([a-z][a-z0-9_]*):(?:\s|$)`)
	keyPath    = regexp.MustCompile(`^[a-z][a-z0-9_]*(\.([a-z][a-z0-9_]*|\*))+$`)
	keyWord    = regexp.MustCompile(`[a-z][a-z0-9_]*`)
)

// TestNamesInProse checks that flags, keys and paths of parameters in the prose of the pages exist:
// flags in the help of a command, keys in the reference.
func TestNamesInProse(t *testing.T) {
	options := map[string]bool{}
	for _, node := range visible(commandLine(t)) {
		for _, group := range node.AllFlags(false) {
			for _, f := range group {
				options[f.Name], options["no-"+f.Name] = true, f.IsBool()
			}
		}
	}
	for _, other := range []string{"build-arg", "oom-score-adj"} { // of other programs
		options[other] = true
	}
	keys := map[string]bool{}
	for _, m := range inlineCode.FindAllStringSubmatch(experiment.Reference(), -1) {
		for _, word := range keyWord.FindAllString(m[1], -1) {
			keys[word] = true
		}
	}
	// keys of values that the reference describes in words, and names of the reader's columns and steps
	for _, word := range []string{"false_positive", "false_negative", "sum", "product", "order", "zip", "sold", "review",
		"column", "numeric", "model", "*"} {
		keys[word] = true
	}
	files := []string{"go", "md", "sh", "py", "json", "csv", "yaml", "txt", "html", "bochner", "journal", "bin", "npy", "service"}
	foreign := []string{"pairwise", "joblib", "skl2onnx", "np", "pandas", "trimmed", "shap"}
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		for _, m := range inlineCode.FindAllStringSubmatch(codeBlock.ReplaceAllString(content(t, name), ""), -1) {
			for _, f := range flagName.FindAllStringSubmatch(m[1], -1) {
				found++
				if !options[f[1]] {
					t.Errorf("%s: `%s` names the flag --%s, which no command has", filepath.Base(name), m[1], f[1])
				}
			}
			var words []string
			for _, k := range keyName.FindAllStringSubmatch(m[1], -1) {
				words = append(words, k[1])
			}
			if path := strings.Split(m[1], "."); keyPath.MatchString(m[1]) && !slices.Contains(foreign, path[0]) &&
				!slices.Contains(files, path[len(path)-1]) {
				words = append(words, path...)
			}
			for _, word := range words {
				found++
				if !keys[word] {
					t.Errorf("%s: `%s` names the key %s, which the reference does not have", filepath.Base(name), m[1], word)
				}
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d names found: the pattern is wrong", found)
	}
}
