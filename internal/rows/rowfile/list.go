package rowfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// List returns the files of rows that the paths name, each of which is
//
//   - a file,
//   - a pattern such as parts/*.csv, as in [path/filepath.Match], unless a file has this name, or
//   - a directory written by Spark or Hive: its files, part-00000 and so on.
//
// Files of a pattern or a directory are in natural order of their names: part-2 before part-10.
// Names that begin with a period or an underscore, such as _SUCCESS, are skipped unless the pattern
// begins so, too. The order of the paths is kept. Errors: a pattern without a match, which is an
// [fs.ErrNotExist]; a directory without files or with subdirectories; and a file that is named
// twice. A path that is a file, or that does not exist, is returned unchanged.
//
// The files are in fsys, or in the file system of the host if fsys is nil.
func List(fsys fs.FS, paths ...string) ([]string, error) {
	var out []string
	var wrong []error
	for _, p := range paths {
		found, err := filesOf(fsys, p)
		wrong = append(wrong, err)
		for _, file := range found {
			if slices.Contains(out, file) {
				wrong = append(wrong, fmt.Errorf("%s: the file is named twice", file))
			}
		}
		out = append(out, found...)
	}
	return out, errors.Join(wrong...)
}

// filesOf lists the files of one path.
func filesOf(fsys fs.FS, at string) ([]string, error) {
	info, err := statIn(fsys, at)
	switch {
	case err == nil && info.IsDir():
		return filesIn(fsys, at)
	case err == nil || !IsPattern(at):
		return []string{at}, nil
	}
	names, err := globIn(fsys, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	slices.SortFunc(names, natural)
	var out []string
	for _, name := range names {
		if sameDirectory(name, at) {
			continue
		}
		info, err := statIn(fsys, name)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			in, err := filesIn(fsys, name)
			if err != nil {
				return nil, err
			}
			out = append(out, in...)
		default:
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", at, errNone)
	}
	return out, nil
}

// errNone reports a pattern without a match.
var errNone error = none{}

type none struct{}

func (none) Error() string { return "no file is called so" }
func (none) Unwrap() error { return fs.ErrNotExist }

// filesIn lists the files of a directory.
func filesIn(fsys fs.FS, folder string) ([]string, error) {
	var entries []fs.DirEntry
	var err error
	if fsys == nil {
		entries, err = os.ReadDir(folder)
	} else {
		entries, err = fs.ReadDir(fsys, folder)
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		name := strings.TrimSuffix(filepath.ToSlash(folder), "/") + "/" + e.Name()
		if info, err := statIn(fsys, name); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s: a folder with folders in it, such as %s; name their files by a pattern such as %s/*/*",
				folder, e.Name(), strings.TrimSuffix(folder, "/"))
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: a folder without files of rows", folder)
	}
	slices.SortFunc(out, natural)
	return out, nil
}

// IsPattern reports whether a path contains pattern characters.
func IsPattern(path string) bool { return strings.ContainsAny(path, "*?[") }

// sameDirectory reports whether a match of a pattern is in the directory of the rows or below.
func sameDirectory(name, pattern string) bool {
	want := strings.Split(filepath.ToSlash(pattern), "/")
	for k, part := range strings.Split(filepath.ToSlash(name), "/") {
		if hidden(part) && (k >= len(want) || !hidden(want[k])) {
			return true
		}
	}
	return false
}

// hidden reports whether programs use such a name for additional files.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

func statIn(fsys fs.FS, name string) (fs.FileInfo, error) {
	if fsys == nil {
		return os.Stat(name)
	}
	return fs.Stat(fsys, name)
}

func globIn(fsys fs.FS, pattern string) ([]string, error) {
	if fsys == nil {
		return filepath.Glob(pattern)
	}
	return fs.Glob(fsys, pattern)
}

// natural compares names in natural order: sequences of digits compare as numbers.
func natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m == 0 || n == 0 {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		p, q := strings.TrimLeft(x[:m], "0"), strings.TrimLeft(y[:n], "0")
		if c := cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)); c != 0 {
			return c
		}
		x, y = x[m:], y[n:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// digits returns the number of leading digits of a string.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }
