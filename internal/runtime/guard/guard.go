// Package guard turns panics of steps and models, which may be those of other modules, into errors, so that no
// worker goroutine ends the process.
package guard

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
)

// PanicError is a panic in a step or a model. Its message has no stack.
type PanicError struct {
	Method string // method that was called: "steps.Log.Fit"; "" if unknown
	Value  any    // argument of panic
	Stack  []byte // stack of the goroutine, as of [debug.Stack]
}

// Error returns the method and the value.
func (p *PanicError) Error() string {
	if p.Method == "" {
		return fmt.Sprintf("panic: %v", p.Value)
	}
	return fmt.Sprintf("panic in %s: %v", p.Method, p.Value)
}

// Unwrap returns the value if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Recover sets err to a panic of the calling function, as a [*PanicError]. It must be deferred directly. owner and
// method describe the call.
func Recover(err *error, owner any, method string) {
	if value := recover(); value != nil {
		*err = panicError(value, fmt.Sprintf("%T.%s", owner, method))
	}
}

// panicError returns value as an error. One that a [Group] passed on already has its place.
func panicError(value any, method string) *PanicError {
	if p, ok := value.(*PanicError); ok {
		if p.Method == "" {
			p.Method = method
		}
		return p
	}
	return &PanicError{Method: method, Value: value, Stack: debug.Stack()}
}

// Call returns the result of f, which calls a method of owner. A panic is a [*PanicError], and a nil result without
// an error is an error.
func Call[T any](owner any, method string, f func() (T, error)) (out T, err error) {
	defer Recover(&err, owner, method)
	if out, err = NotNil(f()); errors.Is(err, errNil) {
		what := "model"
		if reflect.TypeFor[T]().Name() == "Transformer" {
			what = "fitted step"
		}
		err = fmt.Errorf("%T.%s returned no %s", owner, method, what)
	}
	return out, err
}

// Do calls f, which calls a method of owner. A panic is a [*PanicError].
func Do(owner any, method string, f func() error) (err error) {
	defer Recover(&err, owner, method)
	return f()
}

var errNil = errors.New("the fit returned no model")

// NotNil returns the result of a call, and an error if it is nil without one.
func NotNil[T any](out T, err error) (T, error) {
	if err != nil {
		return out, err
	}
	v := reflect.ValueOf(out)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return out, errNil
	}
	return out, nil
}

// Group is a [sync.WaitGroup] whose Wait panics with the first panic of its goroutines.
type Group struct {
	wait   sync.WaitGroup
	mu     sync.Mutex
	failed *PanicError
}

// Go calls f in a goroutine.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		defer func() {
			if value := recover(); value != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.failed == nil {
					g.failed = panicError(value, "")
				}
			}
		}()
		f()
	})
}

// Wait waits for all goroutines.
func (g *Group) Wait() {
	if g.wait.Wait(); g.failed != nil {
		panic(g.failed)
	}
}
