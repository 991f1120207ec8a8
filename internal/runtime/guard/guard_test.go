package guard

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

type model struct{}

func fit(f func() (*model, error)) error {
	_, err := Call(model{}, "Fit", f)
	return err
}

func TestCall(t *testing.T) {
	oops := errors.New("oops")
	for _, c := range []struct {
		f    func() (*model, error)
		want string
	}{
		{func() (*model, error) { return &model{}, nil }, ""},
		{func() (*model, error) { return nil, oops }, "oops"},
		{func() (*model, error) { return nil, nil }, "guard.model.Fit returned no model"},
		{func() (*model, error) { panic("oops") }, "panic in guard.model.Fit: oops"},
		{func() (*model, error) { panic(oops) }, "panic in guard.model.Fit: oops"},
	} {
		err := fit(c.f)
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %q", err, c.want)
		}
		if p := (*PanicError)(nil); errors.As(err, &p) && !strings.Contains(string(p.Stack), "guard_test.go") {
			t.Errorf("the stack is %s", p.Stack)
		}
	}
	if err := fit(func() (*model, error) { panic(oops) }); !errors.Is(err, oops) {
		t.Errorf("%v does not wrap the panicking error", err)
	}
}

// The caller of Wait gets the panic of a goroutine with its stack, after all others have ended.
func TestGroup(t *testing.T) {
	var done atomic.Int64
	err := fit(func() (*model, error) {
		var g Group
		for i := range 8 {
			g.Go(func() {
				if done.Add(1); i == 3 {
					panic("oops")
				}
			})
		}
		g.Wait()
		return &model{}, nil
	})
	p := (*PanicError)(nil)
	if !errors.As(err, &p) || p.Value != "oops" || p.Method != "guard.model.Fit" || done.Load() != 8 {
		t.Fatalf("error is %v after %d goroutines", err, done.Load())
	}
	if !strings.Contains(string(p.Stack), "TestGroup") {
		t.Errorf("the stack is %s", p.Stack)
	}
}
