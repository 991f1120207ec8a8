package attention

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// stateOf returns a state of 2×2 heads after the given number of keys.
func stateOf(t testing.TB, f *Features, keys int) *State {
	t.Helper()
	s, err := f.NewState(2, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if keys > 0 {
		_, k, v := drawn(Shape{2, 2, 1, keys, f.Width(), 3, false}, 1, 8)
		if err := s.Append(background, k, v); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func saved(t testing.TB, s interface{ MarshalBinary() ([]byte, error) }) []byte {
	t.Helper()
	data, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A state that is serialized after every token continues with the same bits, in both precisions.
func TestRestoredStateResumes(t *testing.T) {
	f := features(t, 5, 7, "orthogonal")
	q, k, v := drawn(Shape{2, 2, 30, 30, 5, 3, true}, 3, 2)
	whole := stateOf(t, f, 0)
	whole32, err := f.NewStateFloat32(2, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	data, data32 := saved(t, whole), saved(t, whole32)
	for i := range 30 {
		var stopped State
		var stopped32 StateFloat32
		if err := stopped.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if err := stopped32.UnmarshalBinary(data32); err != nil {
			t.Fatal(err)
		}
		q, k, v := token(q, 4, 30, 5, i), token(k, 4, 30, 5, i), token(v, 4, 30, 3, i)
		var got [2][]float64
		for j, s := range []*State{whole, &stopped} {
			if err := s.Append(background, k, v); err != nil {
				t.Fatal(err)
			}
			got[j] = must(t)(s.Query(background, q))
		}
		var got32 [2][]float32
		for j, s := range []*StateFloat32{whole32, &stopped32} {
			err := s.Append(background, single(k), single(v))
			if err == nil {
				got32[j], err = s.Query(background, single(q))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got[0], got[1]) || !slices.Equal(got32[0], got32[1]) {
			t.Fatalf("token %d: other bits", i)
		}
		if stopped.Len() != i+1 || stopped32.Len() != i+1 || stopped32.Features().Len() != 7 {
			t.Fatalf("token %d: the states have seen %d and %d keys", i, stopped.Len(), stopped32.Len())
		}
		data, data32 = saved(t, &stopped), saved(t, &stopped32)
	}
	if !slices.Equal(data, saved(t, whole)) || !slices.Equal(data32, saved(t, whole32)) {
		t.Error("saved, the states differ")
	}
}

// A restored state reuses equal features of the replaced state.
func TestRestoredStateSharesFeatures(t *testing.T) {
	f := features(t, 5, 7, "orthogonal")
	data := saved(t, stateOf(t, f, 4))
	s := stateOf(t, f, 0)
	if err := s.UnmarshalBinary(data); err != nil || s.Features() != f {
		t.Errorf("the features are not shared (%v)", err)
	}
	s = stateOf(t, features(t, 5, 7, "iid"), 0)
	if err := s.UnmarshalBinary(data); err != nil || s.Features() == f {
		t.Fatalf("the features are shared (%v)", err)
	}
	if !slices.Equal(saved(t, s), data) {
		t.Error("saved again, the state differs")
	}
}

// sealed updates the checksum of data.
func sealed(data []byte) []byte {
	body := data[:len(data)-sha256.Size]
	seal := sha256.Sum256(body)
	return append(slices.Clone(body), seal[:]...)
}

// Invalid, corrupt and forged states are rejected, and the state is unchanged.
func TestUnmarshalErrors(t *testing.T) {
	f := features(t, 5, 7, "orthogonal")
	s := stateOf(t, f, 4)
	data := saved(t, s)
	set := func(at int, value uint64) []byte {
		out := slices.Clone(data)
		binary.LittleEndian.PutUint64(out[at:], value)
		return out
	}
	count := func(i int) int { return len(magic) + 8 + 8*i }
	sums := headerBytes + 8*5*7
	newer := slices.Clone(data)
	newer[len(magic)] = 2
	odd := slices.Clone(data)
	odd[len(magic)+4] = 16
	s32, err := f.NewStateFloat32(1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	for want, bad := range map[string][]byte{
		"not a serialized state":                         []byte("queries, keys and values"),
		"truncated: must have at least 96 bytes, got 64": data[:headerBytes],
		"version must be 1, got 2":                       newer,
		"must be double precision, got single precision": saved(t, s32),
		"must be double precision, got 16 bits":          odd,
		"batch must be 1 to 1496, got 0":                 set(count(0), 0),
		"got 18446744073709551615":                       set(count(1), math.MaxUint64),
		"got 1099511627777":                              set(count(5), maxKeys+1),
		"must have 1496 bytes, got 1495":                 data[:len(data)-1],
		"must have 1552 bytes, got 1496":                 set(count(2), 6),
		"corrupt: checksum mismatch":                     set(len(data)-8, 1),
		"checksum mismatch":                              set(sums, 1),
		"features must be finite":                        sealed(set(headerBytes+8, math.Float64bits(math.NaN()))),
		"omega is too large":                             sealed(set(headerBytes+8, math.Float64bits(1e300))),
		"batch 0, head 0: feature 2: invalid maximum exponent +Inf": sealed(set(sums+16,
			math.Float64bits(math.Inf(1)))),
		"batch 0, head 0: feature 0: invalid sum of weights of 4 keys: -1": sealed(set(sums+8*(7+3),
			math.Float64bits(-1))),
		"batch 1, head 0: feature 0: sums of values must be at most": sealed(set(sums+8*(2*7*5+7), math.Float64bits(1e308))),
		"batch 0, head 0: sums must be empty without keys":           sealed(set(count(5), 0)),
		"batch 0, head 0: feature 0: invalid sum of weights of 4 keys: NaN": sealed(set(sums+8*(7+3),
			math.Float64bits(math.NaN()))),
		"feature 6: invalid maximum exponent -Inf": sealed(set(sums+8*(3*7*5+6),
			math.Float64bits(math.Inf(-1)))),
		"must have 1496 bytes, got 1497":               append(slices.Clone(data), 0),
		"cannot restore state: not a serialized state": nil,
	} {
		if err := s.UnmarshalBinary(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		if !slices.Equal(saved(t, s), data) {
			t.Fatalf("%s: the state is another", want)
		}
	}
}

// The checksum detects every single-bit error.
func TestChecksum(t *testing.T) {
	s := stateOf(t, features(t, 2, 3, "iid"), 4)
	data := saved(t, s)
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			if s.UnmarshalBinary(data) == nil {
				t.Fatalf("byte %d, bit %d", i, bit)
			}
			data[i] ^= 1 << bit
		}
	}
}

// A canceled long append leaves the state unchanged; a complete one does not depend on GOMAXPROCS.
func TestLongAppend(t *testing.T) {
	f := features(t, 5, 7, "orthogonal")
	_, k, v := drawn(Shape{2, 2, 1, 5000, 5, 3, false}, 3, 2)
	s := stateOf(t, f, 9)
	before := saved(t, s)
	ctx, cancel := context.WithCancel(background)
	cancel()
	if err := s.Append(ctx, k, v); err == nil || s.Len() != 9 || !slices.Equal(saved(t, s), before) {
		t.Errorf("the state has seen %d keys (%v)", s.Len(), err)
	}
	var want []byte
	for _, cores := range []int{1, 2, 4} {
		most := runtime.GOMAXPROCS(cores)
		some := s.Clone()
		err := some.Append(background, k, v)
		runtime.GOMAXPROCS(most)
		if err != nil {
			t.Fatal(err)
		}
		got := saved(t, some)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || some.Len() != 5009 {
			t.Errorf("%d cores: other bits of %d keys", cores, some.Len())
		}
	}
}

// Clones of empty states are empty; zero states return errors.
func TestEmptyStates(t *testing.T) {
	f := features(t, 5, 7, "orthogonal")
	if s := stateOf(t, f, 0); !slices.Equal(saved(t, s.Clone()), saved(t, s)) {
		t.Error("a clone of a state without keys is another")
	}
	var s State
	var none Features
	s.Clone()
	for name, call := range map[string]func() error{
		"append": func() error { return s.Append(background, []float64{1}, []float64{1}) },
		"query":  func() error { _, err := s.Query(background, []float64{1}); return err },
		"save":   func() error { _, err := s.MarshalBinary(); return err },
		"clone":  func() error { _, err := s.Clone().MarshalBinary(); return err },
		"state":  func() error { _, err := none.NewState(1, 1, 1); return err },
		"linear": func() error { _, err := none.Linear(background, NewShape(1, 1, 1, 1), nil, nil, nil); return err },
		"map":    func() error { _, err := none.Map(background, []float64{1}); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "; use ") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if none.Width() != 0 || none.Len() != 0 || s.Len() != 0 {
		t.Error("zero values must be empty")
	}
}

// Any input is rejected, or gives a state with finite results that serializes to the same bytes.
func FuzzState(f *testing.F) {
	some := features(f, 2, 3, "iid")
	f.Add(saved(f, stateOf(f, some, 0)))
	f.Add(saved(f, stateOf(f, some, 4)))
	one, err := some.NewState(1, 1, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved(f, one))
	if err := one.Append(background, []float64{1, 2}, []float64{3}); err != nil {
		f.Fatal(err)
	}
	f.Add(saved(f, one))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s State
		if len(data) >= sha256.Size {
			data = sealed(data)
		}
		if s.UnmarshalBinary(data) != nil {
			return
		}
		if !slices.Equal(saved(t, &s), data) {
			t.Fatal("saved again, it is another")
		}
		n := s.shape.sequences()
		q, k, v := drawn(Shape{1, n, 1, 1, s.Features().Width(), s.shape.Values, false}, 1, 1)
		for round := range 2 {
			if s.Len() > 0 {
				for _, x := range must(t)(s.Query(background, q)) {
					if math.IsNaN(x) || math.IsInf(x, 0) {
						t.Fatalf("round %d: the answer is %v", round, x)
					}
				}
			}
			if s.Len() < maxKeys {
				if err := s.Append(background, k, v); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
