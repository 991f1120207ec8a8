package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/rows/reader"
)

// asCommand makes the test program be the command.
const asCommand = "BOCHNER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		Parts{}.Main()
	}
	os.Exit(m.Run())
}

// shell runs a script in a shell whose PATH includes bochner and returns its output. The test is
// skipped if the shell is not installed.
func shell(t *testing.T, name, script string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "bochner")); err != nil {
		t.Skip(err)
	}
	c := exec.Command(path, append(args, script)...)
	c.Env = append(os.Environ(), asCommand+"=yes", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+bin)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", name, err, out)
	}
	return string(out)
}

// TestCompletions checks the completions of words at different positions.
func TestCompletions(t *testing.T) {
	for words, want := range map[string]string{
		".": "auto init validate plan run report compare evaluate predict explain export inspect serve " +
			"shard schema datasets help version completion man",
		"pr.":                          "predict",
		"x.":                           "",
		"predict --f.":                 "--format",
		"predict --no.":                "--no-header",
		"predict --qu.":                "--quiet",
		"--json predict --k.":          "--keep",
		"predict --format .":           "auto " + strings.Join(reader.Formats(), " "),
		"predict --format t.":          "tsv",
		"predict --format=t.":          "--format=tsv",
		"predict --format = t.":        "tsv",
		"predict --format =.":          "auto " + strings.Join(reader.Formats(), " "),
		"predict --format csv m.":      ":files",
		"predict --format=csv m.":      ":files",
		"predict --format = csv m.":    ":files",
		"predict --header model rows.": ":files",
		"predict --drop a model rows.": ":files",
		"predict --drop .":             "",
		"export --to .":                "onnx go python",
		"export -o .":                  ":files",
		"export --precision float64 .": ":files",
		"predict -o .":                 ":files",
		"predict model rows -- --f.":   ":files",
		"predict -- --f.":              ":files",
		"predict model rows more.":     ":files",
		"help ev.":                     "evaluate",
		"completion .":                 "bash zsh fish powershell",
		"run --nonsense .":             ":files",
		"predict --nonsense=.":         "",
	} {
		out, errs := call(t, success, "complete-words -- "+words)
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			word, _, _ := strings.Cut(line, "\t")
			got = append(got, word)
		}
		if strings.Join(got, " ") != want || errs != "" {
			t.Errorf("%s: %q, want %q; %s", words, strings.Join(got, " "), want, errs)
		}
	}
}

// TestCompletionScripts checks that the shells can parse the scripts.
func TestCompletionScripts(t *testing.T) {
	for _, name := range []string{"bash", "zsh", "fish", "powershell"} {
		t.Run(name, func(t *testing.T) {
			out, _ := call(t, success, "completion "+name)
			has(t, out, "complete-words", ":files")
			file := filepath.Join(t.TempDir(), "script")
			put(t, file, out)
			if name == "powershell" {
				shell(t, "pwsh", "$e = $null; [System.Management.Automation.Language.Parser]::ParseFile('"+file+
					"', [ref]$null, [ref]$e) | Out-Null; if ($e) { $e; exit 1 }", "-NoProfile", "-Command")
				return
			}
			if got := shell(t, name, file, "-n"); got != "" {
				t.Error(got)
			}
		})
	}
}

// Shells complete by their scripts: commands, flags, values and files.
func TestShellsComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", "")
	put(t, "my rows.csv", "")
	for _, test := range []struct{ line, want string }{
		{"bochner val", "validate"},
		{"bochner predict --dr", "--drop"},
		{"bochner predict --format ts", "tsv"},
		{"bochner predict model ro", "rows.csv"},
		{"bochner completion ", "bash fish powershell zsh"},
	} {
		for name, script := range map[string]string{
			"bash": `source <(bochner completion bash); line=LINE; read -ra COMP_WORDS <<< "$line"; [[ $line == *' ' ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bochner; printf '%s\n' "${COMPREPLY[@]}"`,
			"zsh":  `source <(bochner completion zsh); _describe() { print -l -- "${(@)found%%:*}" }; _files() { print -l -- ${words[CURRENT]}*(N) }; words=("${(@s: :)$(print -r -- LINE.)}"); words[-1]=${words[-1]%.}; CURRENT=${#words}; _bochner; true`,
			"fish": `bochner completion fish | source; complete -C LINE | string replace -r '\t.*' ''; true`,
		} {
			t.Run(name+" "+test.line, func(t *testing.T) {
				out := shell(t, name, strings.Replace(script, "LINE", "'"+test.line+"'", 1), "-c")
				got := strings.Fields(out)
				slices.Sort(got)
				if strings.Join(got, " ") != test.want {
					t.Errorf("%q, want %q", strings.Join(got, " "), test.want)
				}
			})
		}
	}
}

// help returns the output of --help.
func TestHelpCommand(t *testing.T) {
	for _, name := range []string{"", "run", "predict", "completion"} {
		want, _ := call(t, success, name+" --help")
		if got, errs := call(t, success, "help "+name); got != want || errs != "" {
			t.Errorf("help %s prints\n%s%s\nwant\n%s", name, got, errs, want)
		}
	}
}

// TestVersion checks that the version is that of the build, as text and as JSON.
func TestVersion(t *testing.T) {
	out, _ := call(t, success, "version")
	has(t, out, "bochner ", "go1.")
	out, _ = call(t, success, "version --json")
	var v version
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Bochner == "" || v.Go == "" ||
		!strings.Contains(v.Platform, "/") {
		t.Errorf("%+v, %v", v, err)
	}
	built := versionOf(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}})
	if built.Revision != "abc" || built.Time != "2026-01-02T03:04:05Z" || !built.Modified {
		t.Errorf("%+v", built)
	}
}
