package golden

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var read = flag.String("read", "", "the file to which tests have written the names of the cases that they read")

// Every reference case is read by a test or listed as pending; a new unread case is found.
func TestEveryCaseIsRead(t *testing.T) {
	if *read == "" {
		t.Skip("which cases are read is known after all tests only: see .ci/run")
	}
	record, err := os.ReadFile(*read)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(Path(t, "reference"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases (%v)", err)
	}
	var cases []string
	for _, file := range files {
		name, _ := caseOf(file)
		cases = append(cases, name)
	}
	for _, problem := range unread(cases, strings.Fields(string(record)), NotYet) {
		t.Error(problem)
	}
}

// unread compares the existing cases, those that tests read, and those listed as exceptions.
func unread(cases, read []string, listed map[string]string) (errs []string) {
	for _, name := range cases {
		switch isRead, isListed := slices.Contains(read, name), listed[name] != ""; {
		case !isRead && !isListed:
			errs = append(errs, fmt.Sprintf("no test reads the case %s: read it, or list it in golden.NotYet", name))
		case isRead && isListed:
			errs = append(errs, fmt.Sprintf("the case %s is read: take it off golden.NotYet", name))
		}
	}
	for name := range listed {
		if !slices.Contains(cases, name) {
			errs = append(errs, fmt.Sprintf("golden.NotYet lists %s, which is no case", name))
		}
	}
	slices.Sort(errs)
	return errs
}

func TestUnread(t *testing.T) {
	got := unread([]string{"a", "b", "c", "d"}, []string{"a", "c", "a"},
		map[string]string{"b": "soon", "c": "soon", "e": "soon"})
	want := []string{
		"golden.NotYet lists e, which is no case",
		"no test reads the case d: read it, or list it in golden.NotYet",
		"the case c is read: take it off golden.NotYet",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// absence records whether a test is skipped or fails.
type absence struct {
	testing.TB
	what string
}

func (a *absence) Helper()               {}
func (a *absence) Skipf(string, ...any)  { a.what = "skipped" }
func (a *absence) Fatalf(string, ...any) { a.what = "failed" }

// TestAbsence checks that a missing case skips the test, but not in the gate, which records the
// requested cases.
func TestAbsence(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	for _, c := range []struct{ record, want string }{{"", "skipped"}, {record, "failed"}} {
		t.Setenv("BOCHNER_REFERENCE", c.record)
		a := &absence{TB: t}
		Path(a, "reference", "no_such_case.json")
		if a.what != c.want {
			t.Errorf("with the record %q a test of what is absent is %q, want %q", c.record, a.what, c.want)
		}
	}
	Path(&absence{TB: t}, "data", "no_such_set.json")
	if got, err := os.ReadFile(record); err != nil || string(got) != "no_such_case\n" {
		t.Errorf("the record is %q (%v)", got, err)
	}
}
