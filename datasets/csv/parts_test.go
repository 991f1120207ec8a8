package csv

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/internal/table"
	"github.com/bochner-ml/bochner/datasets/internal/text"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// inOrder is a reader that reads one record after the other.
type inOrder struct{ table.Reader }

// outcome contains all results of reading a file.
type outcome struct {
	Open, Blocks, Survey string
	Schema               datasets.Schema
	Rows                 int
	Content              []datasets.ColumnContent
	LeftOut              []int
	Sets                 []string
}

// outcomeOf opens a file, with the schema known or not, and reads it.
func outcomeOf(r []table.Reader, roles datasets.Roles, hold int64) (out outcome) {
	ctx, k := context.Background(), -1
	src, err := table.OpenAll(ctx, make([]string, len(r)), func(string) (table.Reader, error) {
		k++
		return r[k], nil
	}, roles, hold)
	if out.Open = fmt.Sprint(err); err != nil {
		return out
	}
	out.Schema = src.Schema()
	out.Rows, _ = src.Dims()
	out.Content, err = datasets.ScanContent(ctx, src)
	out.Survey = fmt.Sprint(err)
	out.LeftOut = append(out.LeftOut, src.(rowsource.FilteredSource).SkippedRows()...)
	out.Blocks = fmt.Sprint(src.Blocks(ctx, func(b datasets.Set) error {
		set := fmt.Sprint(b.Rows(), b.Passthrough, b.Groups)
		for _, list := range [][]float64{b.Y, b.Weights} {
			for _, v := range list {
				set += fmt.Sprintf(" %x", math.Float64bits(v))
			}
		}
		for i := range b.Rows() {
			for j := range b.Cols() {
				set += fmt.Sprintf(" %x", math.Float64bits(b.X.At(i, j)))
			}
		}
		out.Sets = append(out.Sets, set)
		return nil
	}))
	return out
}

// someText draws a string, which may be wrong, and options to read it by.
func someText(r *rand.Rand) (string, Options) {
	var o Options
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	comma, end := ",", pick("\n", "\n", "\r\n")
	if r.IntN(5) == 0 {
		comma, o.Delimiter = pick(";", "\t", " "), ""
		o.Delimiter = map[string]string{";": ";", "\t": "tab", " ": "space"}[comma]
	}
	if r.IntN(4) == 0 {
		o.Comment = "#"
	}
	o.KeepSpace = r.IntN(6) == 0
	if r.IntN(6) == 0 {
		o.Decimal = ","
	}
	if r.IntN(5) == 0 {
		o.MaxRecord = 60
	}
	if r.IntN(5) == 0 {
		o.Missing = []string{"NA", "7"}
	}
	kinds := []func() string{
		func() string { return fmt.Sprint(r.IntN(20)) },
		func() string { return fmt.Sprintf("%.*f", r.IntN(18), r.NormFloat64()*100) },
		func() string { return pick("red", "blue", "green") },
		func() string { return pick(`"a""b"`, `"two`+end+`lines"`, `"x`+comma+`y"`, "plain", `"#"`) },
		func() string { return pick("1", "2", "u", "1e3", "-0") },
		func() string { return pick("", "7", "NA", "nan", "3") },
	}
	width := 2 + r.IntN(4)
	of := make([]int, width)
	for j := range of {
		of[j] = r.IntN(len(kinds))
	}
	wrong := -1
	n := r.IntN(120)
	if r.IntN(3) == 0 {
		wrong = r.IntN(n + 1)
	}
	var b strings.Builder
	for j := range width {
		b.WriteString(strings.Repeat(comma, min(j, 1)) + string(rune('a'+j)))
	}
	b.WriteString(end)
	for i := range n {
		if r.IntN(12) == 0 {
			b.WriteString(pick("", "  ", "# it's a \"comment", "#,,\"") + end)
		}
		for j := range width {
			field := kinds[of[j]]()
			if i == wrong && j == 1 {
				field = pick(`un"quoted`, `"not closed`, `"closed"behind`, "a"+comma+"b", "\xff", "\x00",
					strings.Repeat("long", 20), `"`+strings.Repeat("long\n", 20)+`"`)
			}
			if comma == " " && field == "" {
				field = "0"
			}
			b.WriteString(strings.Repeat(comma, min(j, 1)) + pick("", "", "", " ") + field)
		}
		if i < n-1 || r.IntN(2) == 0 {
			b.WriteString(end)
		}
	}
	return b.String(), o
}

// someRoles returns random roles of the columns.
func someRoles(r *rand.Rand) datasets.Roles {
	var out datasets.Roles
	if r.IntN(3) > 0 {
		out.Target = []string{"b"}
		out.Task = datasets.Task([]string{"", "", "regression", "classification"}[r.IntN(4)])
		out.DropMissingTarget = r.IntN(3) == 0
	}
	switch r.IntN(6) {
	case 0:
		out.Passthrough = []string{"a", "b"}
	case 1:
		out.Group = "a"
	case 2:
		out.Weight = "a"
	case 3:
		out.Kinds = map[string]datasets.Kind{"a": datasets.Categorical}
	}
	return out
}

// TestPartsEqualWhole checks that a file parsed in parts by any number of goroutines gives the same
// result as one parsed record by record: the same schema, bit-identical rows, and the same errors
// with line numbers.
func TestPartsEqualWhole(t *testing.T) {
	defer func(small, full int) { smallPart, fullPart = small, full }(smallPart, fullPart)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	read, refused := 0, 0
	seeds := uint64(3000)
	if !exhaustive.Tests() {
		seeds = 600
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		content, o := someText(r)
		o.Roles = someRoles(r)
		smallPart = 1 + r.IntN(300)
		fullPart = smallPart + r.IntN(300)
		runtime.GOMAXPROCS(1 + r.IntN(4))
		data := []byte(content)
		if r.IntN(8) == 0 {
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			w.Write(data)
			w.Close()
			data = packed.Bytes()
		}
		head, _, _ := strings.Cut(content, "\n")
		o.FS = fstest.MapFS{"f.csv": {Data: data}, "g.csv": {Data: data}, "none.csv": {Data: []byte(head + "\n\n\n")}}
		f, err := open(text.NewFile(o.FS, "f.csv"), o)
		if err != nil {
			continue
		}
		readers := [][2][]table.Reader{{{inOrder{f}}, {f}}}
		if r.IntN(4) == 0 {
			var both [2][]table.Reader
			for _, path := range []string{"none.csv", "f.csv", "g.csv"}[r.IntN(2):] {
				if f, err := open(text.NewFile(o.FS, path), o); err == nil {
					both[0], both[1] = append(both[0], inOrder{f}), append(both[1], f)
				}
			}
			readers = append(readers, both)
		}
		for _, both := range readers {
			inOrder, whole := both[0], both[1]
			want := outcomeOf(inOrder, o.Roles, 0)
			for _, hold := range []int64{0, 1000, 1 << 30} {
				if got := outcomeOf(whole, o.Roles, hold); !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, %+v\n%q\nin parts, holding %d: %+v\nin order: %+v", seed, o, content, hold, got, want)
				}
			}
			known := o.Roles
			known.Schema = &want.Schema
			if want.Open != "<nil>" {
				refused++
				known.Schema = &datasets.Schema{Columns: []datasets.Column{{Name: "a"}}, Targets: []datasets.Column{{Name: "b"}}}
				known.IgnoreExtra, known.Target, known.Kinds, known.DropMissingTarget = true, nil, nil, false
			} else {
				read++
			}
			known.Unlabeled = r.IntN(3) == 0
			want = outcomeOf(inOrder, known, 0)
			if got := outcomeOf(whole, known, 0); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %+v\n%q\nwith a schema, in parts: %+v\nin order: %+v", seed, known, content, got, want)
			}
		}
	}
	if min(read, refused) < int(seeds)/6 {
		t.Errorf("%d files were read and %d rejected, want more", read, refused)
	}
}

// TestSkippedFirstString checks that a string in a skipped row does not make a column categorical.
func TestSkippedFirstString(t *testing.T) {
	o := Options{Hold: 1 << 20}
	o.Target, o.DropMissingTarget = []string{"y"}, true
	o.FS = fstest.MapFS{"f.csv": {Data: []byte("a,y\nx,\n1.0,2\n3,4\n")}}
	for _, hold := range []int64{0, 1 << 20} {
		o.Hold = hold
		src, err := o.Open(t.Context(), "f.csv")
		if err != nil {
			t.Fatal(err)
		}
		set, err := datasets.ReadAll(t.Context(), src)
		if err != nil || set.Schema.Columns[0].Kind != datasets.Numeric || set.X.At(0, 0) != 1 || set.X.At(1, 0) != 3 {
			t.Errorf("hold %d: %v, %v, %v", hold, set.Schema, set.X, err)
		}
	}
}

// Text before a read error is scanned.
func TestPartsOfABrokenText(t *testing.T) {
	defer func(small, full int) { smallPart, fullPart = small, full }(smallPart, fullPart)
	smallPart, fullPart = 8, 16
	broken := errors.New("broken")
	content := "a,b\n" + strings.Repeat("1,\"u\"\n", 40)
	for n := 4; n < len(content); n += 3 {
		o := Options{}
		o.FS = failing{content[:n], broken}
		f, err := open(text.NewFile(o.FS, "f"), o)
		if err != nil {
			t.Fatal(err)
		}
		want := outcomeOf([]table.Reader{inOrder{f}}, o.Roles, 0)
		if got := outcomeOf([]table.Reader{f}, o.Roles, 1<<30); !reflect.DeepEqual(got, want) || !strings.Contains(got.Open, "broken") {
			t.Fatalf("%d bytes, in parts: %+v\nin order: %+v", n, got, want)
		}
	}
}

// failing is a file system whose files end in an error.
type failing struct {
	text string
	err  error
}

func (f failing) Open(path string) (fs.File, error) {
	file, err := fstest.MapFS{path: {Data: []byte(f.text)}}.Open(path)
	return broken{file, io.MultiReader(file, iotest.ErrReader(f.err))}, err
}

type broken struct {
	fs.File
	r io.Reader
}

func (b broken) Read(p []byte) (int, error) { return b.r.Read(p) }

// TestNumbersOfFields checks that fields parsed as numbers equal those of a general parser.
func TestNumbersOfFields(t *testing.T) {
	numbers, others := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 4))
		content, o := someText(r)
		if r.IntN(3) == 0 {
			content = strings.ReplaceAll(content, ",", "\r,")
		}
		d, err := o.dialect("f.csv")
		if err != nil {
			t.Fatal(err)
		}
		f := &file{o: o, dialect: d}
		quick, slow := f.scanner(), f.scanner()
		slow.simple = false
		for _, s := range []*scanner{quick, slow} {
			s.w = text.NewWindow(iotest.HalfReader(strings.NewReader(content)), s.bound+1)
			s.upcoming = 1
		}
		for {
			err, want := quick.next(), slow.next()
			if fmt.Sprint(err) != fmt.Sprint(want) || quick.line != slow.line {
				t.Fatalf("seed %d: %v in line %d, want %v in %d", seed, err, quick.line, want, slow.line)
			}
			if err != nil {
				break
			}
			if !reflect.DeepEqual(quick.fields, slow.fields) || len(quick.numbers) != len(quick.fields) {
				t.Fatalf("seed %d: %q, want %q", seed, quick.fields, slow.fields)
			}
			for j, v := range quick.numbers {
				if v != v {
					others++
					continue
				}
				numbers++
				if want, ok := text.Number(slow.fields[j]); !ok || math.Float64bits(v) != math.Float64bits(want) {
					t.Fatalf("seed %d: %q is reported to be %v", seed, slow.fields[j], v)
				}
			}
		}
	}
	if min(numbers, others) < 10_000 {
		t.Errorf("%d numbers and %d others, want more", numbers, others)
	}
}
