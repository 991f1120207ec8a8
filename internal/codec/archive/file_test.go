package archive_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/codec/archive"
	"github.com/bochner-ml/bochner/internal/runtime/files"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/model"
)

// sample is a fitted value with every kind of state.
type sample struct {
	Flag    bool
	Text    string
	Words   []string
	Count   int
	Number  float64
	List    []float64
	Ints    []int
	Cols    []uint32
	Hashes  []uint64
	Matrix  *mat.Dense
	Nothing *mat.Dense
	Sparse  *matrices.CSR
	Index   *matrices.CSR
}

func (v *sample) State(s *model.State) {
	s.Bool("flag", &v.Flag)
	s.String("text", &v.Text)
	s.Strings("words", &v.Words)
	s.Int("count", &v.Count)
	s.Float("number", &v.Number)
	part := s.Child("part")
	part.Floats("list", &v.List)
	part.Ints("ints", &v.Ints)
	part.Uint32s("cols", &v.Cols)
	part.Uint64s("hashes", &v.Hashes)
	part.Matrix("matrix", &v.Matrix)
	part.Matrix("nothing", &v.Nothing)
	part.Sparse("sparse", &v.Sparse)
	part.Sparse("index", &v.Index)
}

func newSample(t testing.TB) *sample {
	t.Helper()
	index, err := matrices.NewSharedCSR(2, 9, []int{0, 2, 3}, []uint32{1, 8, 4}, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	return &sample{
		Flag: true, Text: "Grüße, \"x\"", Words: []string{"a", "", "ñ\n"}, Count: -7, Number: math.Copysign(0, -1),
		List: []float64{1.5, math.NaN(), math.Inf(-1), math.SmallestNonzeroFloat64},
		Ints: []int{math.MinInt64, -1, math.MaxInt64},
		Cols: []uint32{0, math.MaxUint32}, Hashes: []uint64{math.MaxUint64, 3},
		Matrix: mat.NewDense(2, 3, []float64{1, 2, 3, 4, 5, 6}),
		Sparse: matrices.CSRFromDense(mat.NewDense(2, 2, []float64{0, 1, math.Pi, 0})), Index: index,
	}
}

var header = archive.Header{
	Name: "demo", Task: "classification", Spec: "- rff: {gamma: 0.1}\n- ridge\n",
	Columns: []archive.Column{{Name: "age", Kind: "numeric"}, {Name: "sex", Kind: "categorical", Levels: []string{"f", "m"}}},
	Targets: []archive.Column{{Name: "y", Kind: "categorical", Levels: []string{"no", "yes"}}}, Classes: []string{"no", "yes"},
	Metrics: map[string]float64{"test.accuracy": 0.85}, Versions: map[string]string{"go": "go1.26"},
}

func sampleFile(t testing.TB) []byte {
	t.Helper()
	a, err := model.Record(newSample(t))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := archive.Write(&b, header, a); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRoundTrip checks that a file is read back bit for bit, including its header, and written
// again with the same bytes.
func TestRoundTrip(t *testing.T) {
	file := sampleFile(t)
	h, a, err := archive.Read(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(h, header) {
		t.Errorf("header %+v, want %+v", h, header)
	}
	var got sample
	if err := model.Restore(a, &got); err != nil {
		t.Fatal(err)
	}
	want := newSample(t)
	if math.Float64bits(got.Number) != math.Float64bits(want.Number) {
		t.Error("negative zero is lost")
	}
	for i := range want.List {
		if math.Float64bits(got.List[i]) != math.Float64bits(want.List[i]) {
			t.Errorf("number %d: %v, want %v", i, got.List[i], want.List[i])
		}
	}
	got.List, want.List = nil, nil
	if !reflect.DeepEqual(&got, want) {
		t.Errorf("read back\n%+v, want\n%+v", got, want)
	}
	var again bytes.Buffer
	if err := archive.Write(&again, h, a); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), file) {
		t.Error("written again, the bytes differ")
	}
}

// A flipped bit anywhere, and a cut anywhere, is a damaged file.
func TestDamage(t *testing.T) {
	file := sampleFile(t)
	try := func(name string, b []byte, at int) {
		if _, _, err := archive.Read(bytes.NewReader(b), int64(len(b))); !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("%s at byte %d: error %v, want ErrDamaged", name, at, err)
		}
	}
	for at := range file {
		b := bytes.Clone(file)
		b[at] ^= 1 << (at % 8)
		try("a flipped bit", b, at)
		if at%7 == 0 {
			try("a cut", file[:at], at)
		}
	}
	try("a byte more", append(bytes.Clone(file), 0), len(file))
}

// forge seals a zip with arbitrary content, as an attacker can.
func forge(t *testing.T, fill func(z *zip.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	s := archive.NewSealer(&b)
	z := zip.NewWriter(s)
	fill(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteChecksum(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestForgedFiles(t *testing.T) {
	put := func(z *zip.Writer, name string, body string, method uint16) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, body)
	}
	var npy bytes.Buffer
	archive.Array{Shape: []int{2}, Floats: []float64{1, 2}}.WriteNPY(&npy)
	doc := func(arrays string) string { return `{"format":1,"spec":"","state":{"a":1},"arrays":[` + arrays + `]}` }
	two := `{"name":"x","type":"<f8","shape":[2]}`
	for _, c := range []struct {
		name, want string
		fill       func(z *zip.Writer)
	}{
		{"no index", "no model.json", func(z *zip.Writer) { put(z, "x.npy", npy.String(), zip.Store) }},
		{"compressed", "compressed", func(z *zip.Writer) { put(z, "model.json", doc(""), zip.Deflate) }},
		{"not JSON", "model.json", func(z *zip.Writer) { put(z, "model.json", "{", zip.Store) }},
		{"no version", "no format version", func(z *zip.Writer) { put(z, "model.json", "{}", zip.Store) }},
		{"unknown key", "unknown field", func(z *zip.Writer) { put(z, "model.json", `{"format":1,"code":"rm"}`, zip.Store) }},
		{"a scalar that is none", "a is no scalar", func(z *zip.Writer) {
			put(z, "model.json", `{"format":1,"state":{"a":{}},"arrays":[]}`, zip.Store)
		}},
		{"a list that is none", "must be a list of strings", func(z *zip.Writer) {
			put(z, "model.json", `{"format":1,"state":{"a":[1]},"arrays":[]}`, zip.Store)
		}},
		{"a list with null", "must be a list of strings", func(z *zip.Writer) {
			put(z, "model.json", `{"format":1,"state":{"a":["n",null]},"arrays":[]}`, zip.Store)
		}},
		{"a state that is none", "model.json", func(z *zip.Writer) {
			put(z, "model.json", `{"format":1,"state":7,"arrays":[]}`, zip.Store)
		}},
		{"missing array", "1 arrays are listed, the file has 0", func(z *zip.Writer) {
			put(z, "model.json", doc(two), zip.Store)
		}},
		{"another array", "array x is missing", func(z *zip.Writer) {
			put(z, "model.json", doc(two), zip.Store)
			put(z, "y.npy", npy.String(), zip.Store)
		}},
		{"extra array", "the file has 1", func(z *zip.Writer) {
			put(z, "model.json", doc(""), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
		{"name twice", "there twice", func(z *zip.Writer) {
			put(z, "model.json", doc(two), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
		{"huge shape", "does not fit into the file", func(z *zip.Writer) {
			put(z, "model.json", doc(`{"name":"x","type":"<f8","shape":[4611686018427387904,4]}`), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
		{"negative shape", "below 0", func(z *zip.Writer) {
			put(z, "model.json", doc(`{"name":"x","type":"<f8","shape":[-1]}`), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
		{"other shape than numbers", "would have", func(z *zip.Writer) {
			put(z, "model.json", doc(`{"name":"x","type":"<f8","shape":[1]}`), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
		{"other type than header", "header", func(z *zip.Writer) {
			put(z, "model.json", doc(`{"name":"x","type":"<i8","shape":[2]}`), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
		{"objects", "type must be <f8, <i8 or <u4, got", func(z *zip.Writer) {
			put(z, "model.json", doc(`{"name":"x","type":"|O","shape":[2]}`), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
		{"no dimensions", "it has 0 dimensions", func(z *zip.Writer) {
			put(z, "model.json", doc(`{"name":"x","type":"<f8","shape":[]}`), zip.Store)
			put(z, "x.npy", npy.String(), zip.Store)
		}},
	} {
		b := forge(t, c.fill)
		_, _, err := archive.Read(bytes.NewReader(b), int64(len(b)))
		if !errors.Is(err, archive.ErrDamaged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want archive.ErrDamaged and %q", c.name, err, c.want)
		}
	}
}

func TestNewerFormat(t *testing.T) {
	b := forge(t, func(z *zip.Writer) {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: archive.IndexName, Method: zip.Store})
		io.WriteString(w, `{"format":2,"spec":"","tensors":{}}`)
	})
	_, _, err := archive.Read(bytes.NewReader(b), int64(len(b)))
	const want = "model: the model file is from a newer version: its format is 2, this program reads up to 1"
	if !errors.Is(err, archive.ErrNewer) || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestRestoreErrors checks that missing state, or state of another type, is an error that names it.
func TestRestoreErrors(t *testing.T) {
	for _, c := range []struct {
		want string
		harm func(a *archive.Archive)
	}{
		{"model: flag is missing", func(a *archive.Archive) { delete(a.Scalars, "flag") }},
		{"model: flag must be a bool, got 1", func(a *archive.Archive) { a.Scalars["flag"] = 1.0 }},
		{"model: count must be an integer, got 0.5", func(a *archive.Archive) { a.Scalars["count"] = 0.5 }},
		{"model: part: array list is missing", func(a *archive.Archive) { delete(a.Arrays, "part/list") }},
		{"model: part: array list must have 1 dimensions, got 2", func(a *archive.Archive) {
			a.Arrays["part/list"] = archive.Array{Shape: []int{1, 1}, Floats: []float64{1}}
		}},
		{"model: part: array ints does not hold int64", func(a *archive.Archive) { a.Arrays["part/ints"] = a.Arrays["part/list"] }},
		{"model: part: array list does not hold float64", func(a *archive.Archive) { a.Arrays["part/list"] = a.Arrays["part/ints"] }},
		{"model: part: array cols does not hold uint32", func(a *archive.Archive) { a.Arrays["part/cols"] = a.Arrays["part/list"] }},
		{"model: part: index: matrices: row 0: columns must be below 3, got 8",
			func(a *archive.Archive) { a.Scalars["part/index/cols"] = 3.0 }},
		{"model: number must have one number, got 4", func(a *archive.Archive) { a.Arrays["number"] = a.Arrays["part/list"] }},
	} {
		a, err := model.Record(newSample(t))
		if err != nil {
			t.Fatal(err)
		}
		c.harm(a)
		var v sample
		if err := model.Restore(a, &v); err == nil || !strings.HasSuffix(err.Error(), strings.TrimPrefix(c.want, "model: ")) ||
			!strings.HasPrefix(err.Error(), "model: ") {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// grown has one number more than its first files.
type grown struct{ number, more float64 }

func (g *grown) State(s *model.State) {
	s.Float("number", &g.number)
	if part := s.Child("part"); part.Has("more") {
		part.Float("more", &g.more)
	}
}

// TestHolds checks that optional state of later files is read if it exists.
func TestHolds(t *testing.T) {
	a, err := model.Record(&grown{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	var whole, first grown
	if err := model.Restore(a, &whole); err != nil || whole != (grown{1, 2}) {
		t.Errorf("%+v, %v", whole, err)
	}
	delete(a.Arrays, "part/more")
	delete(a.Scalars, "part/more")
	if err := model.Restore(a, &first); err != nil || first != (grown{1, 0}) {
		t.Errorf("%+v, %v", first, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	for _, c := range []struct {
		want string
		h    archive.Header
		a    archive.Archive
	}{
		{"string must be UTF-8", archive.Header{}, archive.Archive{Scalars: map[string]any{"a": "\xff"}}},
		{"string must be UTF-8", archive.Header{Columns: []archive.Column{{Name: "\xff"}}}, archive.Archive{}},
		{"string must be UTF-8", archive.Header{}, archive.Archive{Scalars: map[string]any{"a": []string{"\xff"}}}},
		{"model: metrics must be finite, got NaN", archive.Header{Metrics: map[string]float64{"m": math.NaN()}}, archive.Archive{}},
		{"3 numbers for the shape [2]", archive.Header{}, archive.Archive{Arrays: map[string]archive.Array{"x": {Shape: []int{2},
			Floats: make([]float64, 3)}}}},
		{"several kinds", archive.Header{}, archive.Archive{Arrays: map[string]archive.Array{"x": {Shape: []int{0}, Floats: []float64{},
			Ints: []int64{}}}}},
		{"number of dimensions must be 1 to 8, got 0", archive.Header{},
			archive.Archive{Arrays: map[string]archive.Array{"x": {Floats: []float64{1}}}}},
	} {
		if err := archive.Write(io.Discard, c.h, &c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// A model whose strings are above the limit of Read is not written.
func TestWriteLimit(t *testing.T) {
	limit := archive.MaxIndexBytes
	defer func(n int) { *limit = n }(*limit)
	*limit = 1 << 10
	for _, length := range []int{100, 2000} {
		a := &archive.Archive{Scalars: map[string]any{"terms": []string{strings.Repeat("a", length)}}}
		var out bytes.Buffer
		err := archive.Write(&out, archive.Header{}, a)
		if length < *limit {
			if err == nil {
				_, _, err = archive.Read(bytes.NewReader(out.Bytes()), int64(out.Len()))
			}
			if err != nil {
				t.Error(err)
			}
		} else if err == nil || !strings.Contains(err.Error(), "must have at most 1024 bytes as JSON, got 2") ||
			!strings.Contains(err.Error(), "max_features") || out.Len() > 0 {
			t.Errorf("%d bytes written, error %v", out.Len(), err)
		}
	}
}

// Reading a large vocabulary allocates its text once, and its strings.
func TestReadMemory(t *testing.T) {
	terms := make([]string, 100_000)
	for i := range terms {
		terms[i] = fmt.Sprintf("term %026d", i)
	}
	var file bytes.Buffer
	if err := archive.Write(&file, archive.Header{}, &archive.Archive{Scalars: map[string]any{"terms": terms}}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, a, err := archive.Read(bytes.NewReader(file.Bytes()), int64(file.Len()))
	runtime.ReadMemStats(&after)
	if err != nil || !reflect.DeepEqual(a.Scalars["terms"], terms) {
		t.Fatal("other terms", err)
	}
	strs := len(terms) * (32 + 16)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(file.Len()+strs+2*archive.ChunkBytes); got > limit {
		t.Errorf("%d bytes allocated for a file of %d, want at most %d", got, file.Len(), limit)
	}
}

// short is a disk that is full after some bytes.
type short struct{ left int }

var errFull = errors.New("no space left on device")

func (s *short) Write(p []byte) (int, error) {
	if len(p) > s.left {
		return s.left, errFull
	}
	s.left -= len(p)
	return len(p), nil
}

// TestFullDisk checks that a full disk at any byte is an error, and that a failed write leaves the
// existing file unchanged.
func TestFullDisk(t *testing.T) {
	a, err := model.Record(newSample(t))
	if err != nil {
		t.Fatal(err)
	}
	size := len(sampleFile(t))
	for buf := 0; buf < size; buf += 97 {
		if err := archive.Write(&short{buf}, header, a); !errors.Is(err, errFull) {
			t.Fatalf("with space for %d of %d bytes: error %v", buf, size, err)
		}
	}
	dir := t.TempDir()
	lost := filepath.Join(dir, "no", "m")
	if err := writeFile(lost, header, a); !errors.Is(err, os.ErrNotExist) ||
		err.Error() != "files: writing "+lost+": no such file or directory" {
		t.Errorf("a folder that is not there: error %v", err)
	}
	taken := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := writeFile(taken, header, a); err == nil || !strings.HasPrefix(err.Error(), "files: writing "+taken+": ") {
		t.Errorf("a folder in its place: error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func writeFile(path string, h archive.Header, a *archive.Archive) error {
	return files.Replace(path, func(w *bufio.Writer) error { return archive.Write(w, h, a) })
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.bochner")
	a, err := model.Record(newSample(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second replaces the first
		if err := writeFile(path, header, a); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, sampleFile(t)) {
		t.Errorf("the file is not what Write writes (%v)", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if _, _, err := archive.ReadFile(path); err != nil {
		t.Error(err)
	}
	if _, _, err := archive.ReadFile(dir); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: error %v", err)
	}
	if _, _, err := archive.ReadFile(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: error %v", err)
	}
}

// numpy reads the arrays of a model file by their names.
func TestNumpyReads(t *testing.T) {
	if err := exec.Command("python3", "-c", "import numpy").Run(); err != nil {
		t.Skip("python3 with numpy is not on this machine")
	}
	path := filepath.Join(t.TempDir(), "m.bochner")
	if err := os.WriteFile(path, sampleFile(t), 0o600); err != nil {
		t.Fatal(err)
	}
	const script = `
import json, sys, numpy as np
z = np.load(sys.argv[1])
assert json.loads(z["model.json"])["format"] == 1
out = {n: [str(z[n].dtype), list(z[n].shape), [repr(float(v)) for v in z[n].ravel()]] for n in z.files if n != "model.json"}
assert np.isnan(z["part/list"][1]) and z["part/list"].dtype == "<f8"
assert z["part/ints"].tolist() == [-2**63, -1, 2**63-1], z["part/ints"]
assert z["part/cols"].tolist() == [0, 2**32-1] and z["part/cols"].dtype == "<u4"
assert z["part/matrix"].tolist() == [[1,2,3],[4,5,6]] and z["part/matrix"].flags["C_CONTIGUOUS"]
assert z["part/nothing"].shape == (0, 0)
json.dump(sorted(out), sys.stdout)`
	out, err := exec.Command("python3", "-c", script, path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var names []string
	if err := json.Unmarshal(out, &names); err != nil || len(names) != 15 {
		t.Errorf("numpy sees %s", out)
	}
}

// FuzzRead checks that Read does not panic or allocate out of proportion for any file, and that an
// accepted file is written back unchanged.
func FuzzRead(f *testing.F) {
	file := sampleFile(f)
	f.Add(file, false)
	f.Add(file[:len(file)-archive.SealLength-2], true)
	f.Add([]byte("PK\x03\x04"), false)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal { // pass the checksum
			var sealed bytes.Buffer
			s := archive.NewSealer(&sealed)
			s.Write(append(bytes.Clone(b), 0, 0))
			if err := s.WriteChecksum(); err != nil {
				t.Fatal(err)
			}
			b = sealed.Bytes()
		}
		h, a, err := archive.Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if !errors.Is(err, archive.ErrDamaged) && !errors.Is(err, archive.ErrNewer) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		var v sample
		if err := model.Restore(a, &v); err != nil {
			return
		}
		var again bytes.Buffer
		if err := archive.Write(&again, h, a); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
