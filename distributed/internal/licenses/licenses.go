// Command notices writes the licenses of all dependencies of the complete command, which must
// accompany its binaries: those of its modules on every system with a release archive, and that of
// Go.
//
//	cd distributed
//	go run ./internal/licenses > THIRD_PARTY
//	go run ./internal/licenses -list          # only a line for each module
//	go run ./internal/licenses -tags gs       # of a build with additional dependencies
//
// The exit code is 1 if a license is not accepted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// systems lists the operating systems of the release archives. The modules depend on the system,
// but not on the architecture.
var systems = []string{"linux", "darwin", "windows"}

func main() {
	list := flag.Bool("list", false, "only a line for each module")
	tags := flag.String("tags", "", "build tags of the command")
	flag.Parse()
	modules, err := built(context.Background(), *tags)
	if err == nil {
		if *list {
			err = writeList(os.Stdout, modules)
		} else {
			err = write(os.Stdout, modules)
		}
	}
	if err := errors.Join(err, errs(modules)); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// module is one that the command is built from.
type module struct {
	name, version string
	dir           string
	strs          map[string]string // of the licences and notices, by their files in the module
}

// built returns the modules of the command and Go itself, with their license files, sorted by name.
func built(ctx context.Context, tags string) ([]module, error) {
	found := map[string]module{}
	for _, system := range systems {
		c := exec.CommandContext(ctx, "go", "list", "-deps", "-tags", tags, "-f",
			"{{with .Module}}{{if not .Main}}{{if not .Replace}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}{{end}}",
			"github.com/bochner-ml/bochner/distributed/cmd/bochner")
		c.Env, c.Stderr = append(os.Environ(), "GOOS="+system, "GOARCH=amd64"), os.Stderr
		out, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 4 {
				continue // of this module, or of Go
			}
			m, seen := found[f[0]]
			if !seen {
				m = module{f[0], f[1], f[2], map[string]string{}}
				if err := m.gather(filepath.Join(m.dir, "THIRD_PARTY_LICENSES"), regexp.MustCompile(``)); err != nil {
					return nil, err
				}
				found[m.name] = m
			}
			for dir := f[3]; strings.HasPrefix(dir, m.dir); dir = filepath.Dir(dir) {
				if err := m.gather(dir, licence); err != nil {
					return nil, err
				}
			}
		}
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION").Output()
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	library := module{"Go", version, root, map[string]string{}}
	if err := library.gather(root, licence); err != nil {
		return nil, err
	}
	return append([]module{library}, slices.SortedFunc(maps.Values(found),
		func(a, b module) int { return strings.Compare(a.name, b.name) })...), nil
}

// licence matches the names of license files, except those for images.
var licence = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|copyright|patents)([-_.][^.]*)?(\.(txt|md))?$`)

// gather reads the files of a directory with matching names, if the directory exists.
func (m module) gather(dir string, names *regexp.Regexp) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !names.MatchString(e.Name()) || strings.HasSuffix(e.Name(), "-LOGO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.dir, filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.strs[filepath.ToSlash(name)] = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	return nil
}

// licences returns the SPDX names of the licenses that a module's files grant.
func (m module) licences() (out []string) {
	for _, text := range m.strs {
		out = append(out, kinds(text)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// write writes the modules and each distinct text once.
func write(w io.Writer, modules []module) error {
	fmt.Fprintln(w, "The command bochner is built from these modules, each under its own licence, which follows.")
	fmt.Fprintln(w)
	if err := writeList(w, modules); err != nil {
		return err
	}
	owners := map[string][]string{}
	for _, m := range modules {
		for _, name := range slices.Sorted(maps.Keys(m.strs)) {
			text := strings.TrimSpace(m.strs[name])
			owners[text] = append(owners[text], m.name+" ("+name+")")
		}
	}
	strs := slices.SortedFunc(maps.Keys(owners), func(a, b string) int {
		return strings.Compare(owners[a][0], owners[b][0])
	})
	for _, text := range strs {
		if _, err := fmt.Fprintf(w, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(owners[text], "\n"),
			text); err != nil {
			return err
		}
	}
	return nil
}

func writeList(w io.Writer, modules []module) error {
	for _, m := range modules {
		if _, err := fmt.Fprintln(w, m.name, m.version, strings.Join(m.licences(), ", ")); err != nil {
			return err
		}
	}
	return nil
}
