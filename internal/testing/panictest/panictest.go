// Package panictest reports panics of tested code as failures of a test.
package panictest

import "runtime/debug"

// Report reports a panic as an error of the test, so that the other tests run:
//
//	defer panictest.Report(t)
func Report(t interface {
	Errorf(format string, args ...any)
}) {
	if r := recover(); r != nil {
		t.Errorf("panic: %v\n%s", r, debug.Stack())
	}
}
