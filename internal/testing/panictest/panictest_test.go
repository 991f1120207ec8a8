package panictest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/internal/testing/panictest"
)

type log struct{ text string }

func (l *log) Errorf(format string, args ...any) { l.text += fmt.Sprintf(format, args...) }

func TestReport(t *testing.T) {
	var l log
	func() {
		defer panictest.Report(&l)
	}()
	if l.text != "" {
		t.Errorf("without a panic: %s", l.text)
	}
	func() {
		defer panictest.Report(&l)
		panic("index out of range")
	}()
	if !strings.HasPrefix(l.text, "panic: index out of range\n") || !strings.Contains(l.text, "panictest_test.go") {
		t.Errorf("got %s", l.text)
	}
}
