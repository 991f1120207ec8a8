package rowfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bochner-ml/bochner/internal/rows/rowfile"
)

// Files of a pattern or a directory are in natural order, without hidden files, on the local and
// any other file system.
func TestFiles(t *testing.T) {
	names := []string{"parts/part-10.csv", "parts/part-2.csv", "parts/part-1.csv", "parts/_SUCCESS",
		"parts/.part-1.csv.crc", "b.csv", "a.csv", "_own.csv",
		"spark.csv/part-00000", "spark.csv/part-00001", "deep/year=2024/x.csv", "deep/year=2023/x.csv", "deep/_tmp/x.csv",
		"odd[1].csv", "none/_SUCCESS"}
	dir := t.TempDir()
	memory := fstest.MapFS{}
	for _, name := range names {
		memory[name] = &fstest.MapFile{Data: []byte("x\n")}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for given, want := range map[string]string{
		"parts/*.csv":  "parts/part-1.csv parts/part-2.csv parts/part-10.csv",
		"parts":        "parts/part-1.csv parts/part-2.csv parts/part-10.csv",
		"parts/":       "parts/part-1.csv parts/part-2.csv parts/part-10.csv",
		"b.csv a.csv":  "b.csv a.csv",
		"?.csv":        "a.csv b.csv",
		"_*.csv":       "_own.csv",
		"spark.*":      "spark.csv/part-00000 spark.csv/part-00001",
		"deep/*/*.csv": "deep/year=2023/x.csv deep/year=2024/x.csv",
		"deep/year*":   "deep/year=2023/x.csv deep/year=2024/x.csv",
		"odd[1].csv":   "odd[1].csv",
		"gone.csv":     "gone.csv",
		"":             "",
		"no*.csv":      "no*.csv: no file is called so",
		"none":         "none: a folder without files of rows",
		"deep": "deep: a folder with folders in it, such as year=2023; name their files by a pattern such " +
			"as deep/*/*",
		"a.csv ?.csv": "a.csv: the file is named twice",
		"[":           "[: syntax error in pattern",
		"no*.csv none *.nope": "no*.csv: no file is called so\nnone: a folder without files of rows\n*.nope: no file is " +
			"called so",
	} {
		for _, own := range []bool{true, false} {
			var paths []string
			var err error
			if own {
				paths, err = rowfile.List(nil, strings.Fields(given)...)
			} else if given == "parts/" || given == "[" {
				continue // not an fs.FS path; the error text depends on the file system
			} else {
				paths, err = rowfile.List(memory, strings.Fields(given)...)
			}
			got := strings.Join(paths, " ")
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%q (the machine's own: %v): %s\nwanted %s", given, own, got, want)
			}
		}
	}
}
