package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/matrices"
)

func head(kind string) Head { return Head{Journal: kind, Sums: map[string]string{"data": "1"}} }

type entry struct{ Number int }

// opened opens a journal and returns the numbers in it.
func opened(path string, h Head) (*Journal, []int, error) {
	var numbers []int
	j, err := Open(path, h, func(line []byte) error {
		var e entry
		err := Decode(line, &e)
		numbers = append(numbers, e.Number)
		return err
	})
	return j, numbers, err
}

// TestTorn checks that after truncation at any byte, complete lines are read, new ones are
// appended, and the journal is complete again.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _, err := opened(path, head("ours"))
	if err != nil {
		t.Fatal(err)
	}
	for k := range 3 {
		if err := j.Write(entry{k}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	whole, _ := os.ReadFile(path)
	for size := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		j, got, err := opened(path, head("ours"))
		if want := []int{0, 1, 2}[:max(0, bytes.Count(whole[:size], []byte("\n"))-1)]; err != nil ||
			!slices.Equal(got, want) {
			t.Fatalf("of %d bytes: %v, want %v: %v", size, got, want, err)
		}
		if err := errors.Join(j.Write(entry{9}), j.Close()); err != nil {
			t.Fatal(err)
		}
		if _, again, err := opened(path, head("ours")); err != nil || !slices.Equal(again, append(got, 9)) {
			t.Fatalf("of %d bytes, then one more: %v: %v", size, again, err)
		}
	}
}

// sealed returns lines of a journal with their checksums.
func sealed(strs ...string) string {
	var out []byte
	for _, text := range strs {
		out = append(out, Seal([]byte(text))...)
	}
	return string(out)
}

const ours = `{"journal":"ours","version":0,"sums":{"data":"1"}}`

// TestRefused checks that a journal of another search is rejected and not modified.
func TestRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	for _, c := range []struct {
		content string
		foreign bool
	}{
		{"a letter", true},
		{"a letter\n", true},
		{ours + "\n", true},
		{sealed(strings.Replace(ours, "1", "2", 1)), false},
		{sealed(strings.Replace(ours, "0", "1", 1)), false},
		{sealed(strings.Replace(ours, "ours", "theirs", 1)), true},
		{string(bytes.Repeat([]byte("x"), 2*maxHead)) + "\n", true},
		{sealed(ours, "{"), false},
		{sealed(ours, `{"Number":1,"More":2}`), false},
		{strings.Replace(sealed(ours, `{"Number":1}`), "1}", "2}", 1), false},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := opened(path, head("ours")); err == nil || errors.Is(err, ErrForeign) != c.foreign {
			t.Errorf("%.40q: %v", c.content, err)
		}
		if after, _ := os.ReadFile(path); string(after) != c.content {
			t.Errorf("%.40q has become %.40q", c.content, after)
		}
	}
	if _, _, err := opened(filepath.Join(path, "below"), Head{}); err == nil {
		t.Error("there is a journal below a file")
	}
	var none *Journal
	if err := errors.Join(none.Write(entry{1}), none.Close()); err != nil {
		t.Errorf("none: %v", err)
	}
}

// Sums differ where a number differs, in its sign or as NaN, where a list is divided otherwise, and
// with the kind of rows.
func TestSum(t *testing.T) {
	numbers := func(lists ...[]float64) string {
		return Sum(func(w hash.Hash) {
			for _, list := range lists {
				Numbers(w, list)
			}
		})
	}
	sum := func(X mat.Matrix) string { return Sum(func(w hash.Hash) { matrix(w, X) }) }
	dense := mat.NewDense(2, 2, []float64{1, 0, 0, 2})
	long := make([]float64, 10_000)
	other := slices.Clone(long)
	other[9_999] = math.NaN()
	seen := map[string]int{}
	for k, sum := range []string{
		numbers([]float64{1, 2}), numbers([]float64{1}, []float64{2}), numbers([]float64{2, 1}), numbers([]float64{0}),
		numbers([]float64{math.Copysign(0, -1)}), numbers(nil), numbers(long), numbers(other),
		Sum(func(w hash.Hash) { Numbers(w, []int{1, 2}) }),
		sum(dense), sum(dense.T()), sum(matrices.CSRFromDense(dense)), sum(mat.NewDense(1, 4, []float64{1, 0, 0, 2})),
	} {
		if before, ok := seen[sum]; ok || len(sum) != 32 {
			t.Errorf("sum %d is %q, as sum %d", k, sum, before)
		}
		seen[sum] = k
	}
	if sum(dense) != sum(mat.DenseCopyOf(dense)) {
		t.Error("the same numbers have two sums")
	}
}

// The checksum of many short rows uses the memory of short rows.
func TestSumOfShortRowsTakesLittleRoom(t *testing.T) {
	const rows = 10_000
	X := mat.NewDense(rows, 3, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	Sum(func(w hash.Hash) { matrix(w, X) })
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / rows; each > 200 {
		t.Errorf("%d bytes a row", each)
	}
}

// TestNumber checks that a number is read back bit for bit, and a number that JSON does not have as
// NaN.
func TestNumber(t *testing.T) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1.0 / 3, -1e300, 5e-324, 1e21, math.NaN(), math.Inf(1)} {
		text, err := json.Marshal(Number(v))
		var back Number
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if finite := v-v == 0; err != nil || finite && math.Float64bits(float64(back)) != math.Float64bits(v) || !finite &&
			!math.IsNaN(float64(back)) {
			t.Errorf("%v is %s and then %v, %v", v, text, back, err)
		}
	}
}
