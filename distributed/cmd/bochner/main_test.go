package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

// asCommand makes the test program be the command.
const asCommand = "BOCHNER_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The exit codes.
const (
	success = 0
	failure = 1
)

// call runs the command and wants an exit code.
func call(t *testing.T, code int, args string) (out, errs string) {
	t.Helper()
	var o, e strings.Builder
	if got := parts.Run(context.Background(), strings.Fields(args), &o, &e); got != code {
		t.Fatalf("bochner %s: exit code %d, want %d: %s", args, got, code, e.String())
	}
	return o.String(), e.String()
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
