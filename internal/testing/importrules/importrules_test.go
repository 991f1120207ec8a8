package importrules

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every import of a package of this module by another is one that Allowed lists, and every package
// outside examples is listed.
func TestArrows(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(path, root, entry)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		buffer := filepath.ToSlash(relative)
		if strings.HasPrefix(buffer, "examples") {
			return nil
		}
		seen[buffer] = true
		check(t, buffer, path)
		checkCauses(t, buffer, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for buffer := range Allowed {
		if !seen[buffer] {
			t.Errorf("%s is listed and does not exist", buffer)
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %d packages found: the walk is wrong", len(seen))
	}
}

// skip excludes hidden directories, test data, generators and separate modules.
func skip(path, root string, entry fs.DirEntry) error {
	if path == root {
		return nil
	}
	name := entry.Name()
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "runs" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func check(t *testing.T, pkg, path string) {
	allowed, listed := Allowed[pkg]
	if !listed {
		t.Errorf("%s: package %s is not listed", path, pkg)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		if rooms, few := Outside[target]; few && !slices.Contains(rooms, pkg) {
			t.Errorf("%s: %s is not for %s", path, target, pkg)
		}
		target, ours := strings.CutPrefix(target, Module+"/")
		if ours && !permits(Everywhere, target) && !permits(allowed, target) {
			t.Errorf("%s: no arrow from %s to %s", path, pkg, target)
		}
	}
}

// checkCauses reports context errors that are not obtained from cause.Err, except in comparisons.
func checkCauses(t *testing.T, pkg, path string) {
	if pkg == "internal/runtime/ctxerr" || pkg == "internal/testing/canceltest" || strings.HasPrefix(pkg, "bench") {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bareErr.FindAllString(string(text), -1) {
		t.Errorf("%s: %s: must be ctxerr.Check(ctx), which has the cause", path, strings.TrimSpace(line))
	}
}

// bareErr matches a context error that is returned or assigned without wrapping.
var bareErr = regexp.MustCompile(`(?m)(return |= |Or\()(.*, )?(\w+\.)*(ctx|parent|Context\(\))\.Err\(\)([,;)]|$| //)`)

func permits(allowed []string, target string) bool {
	for _, a := range allowed {
		prefix, below := strings.CutSuffix(a, "/...")
		if target == prefix || below && strings.HasPrefix(target, prefix+"/") {
			return true
		}
	}
	return false
}
