package csv_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
)

// Any reader gives the same rows and errors as a file with the same bytes.
func TestReadFromReader(t *testing.T) {
	ctx := context.Background()
	shown := func(s datasets.Set, err error) string {
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%v %v %v", mat.Formatted(s.X), s.Y, s.Schema)
	}
	for _, text := range []string{
		"a,b,y\n1,red,2\n,blue,3\n", // strings after numbers need another pass
		"a,y\n1,no\n2,yes\nx,no\n",
		"a,y\n1,2,wrong\n",
		"wrong,wrong\n1,2\n",
	} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		io.WriteString(z, text)
		z.Close()
		want := ""
		for _, whole := range []string{text, packed.String()} {
			path := filepath.Join(t.TempDir(), "f.csv")
			if err := os.WriteFile(path, []byte(whole), 0o644); err != nil {
				t.Fatal(err)
			}
			want = shown(csv.Options{Roles: datasets.Roles{Target: []string{"-1"}}}.ReadFile(ctx, path))
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			// whose errors name the file
			got := shown(csv.Options{Roles: datasets.Roles{Target: []string{"-1"}}}.Read(ctx, f))
			f.Close()
			if got != want {
				t.Errorf("from an open file:\n%s\nwanted:\n%s", got, want)
			}
			got = shown(csv.Options{Roles: datasets.Roles{Target: []string{"-1"}}}.Read(ctx, iotest.OneByteReader(strings.NewReader(whole))))
			if want = strings.ReplaceAll(want, path, "input"); got != want {
				t.Errorf("byte by byte:\n%s\nwanted:\n%s", got, want)
			}
		}
		if strings.Contains(text, "wrong") != strings.HasPrefix(want, "input:") {
			t.Errorf("%q became %s", text, want)
		}
	}
}

// A failing reader, a nil reader and a canceled context are errors.
func TestReadFromBadReader(t *testing.T) {
	broken := errors.New("broken")
	if _, err := (csv.Options{Roles: datasets.Roles{Target: []string{"-1"}}}).Read(context.Background(), iotest.ErrReader(broken)); !errors.Is(err, broken) ||
		!strings.HasPrefix(err.Error(), "input: ") {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := (csv.Options{Roles: datasets.Roles{Target: []string{"-1"}}}).Read(context.Background(), nil); err == nil ||
		err.Error() != "input: there is no reader" {
		t.Errorf("no reader: %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := (csv.Options{Roles: datasets.Roles{Target: []string{"-1"}}}).Read(ended, strings.NewReader("1")); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
