package main

import (
	"context"
	"os"
	"strings"
	"testing"
)

// All modules of the command have an accepted license with its text.
func TestLicences(t *testing.T) {
	if _, err := os.ReadFile("../../go.sum"); err != nil { // so that a change of modules runs the test again
		t.Fatal(err)
	}
	modules, err := built(context.Background(), "gs")
	if err != nil {
		t.Fatal(err)
	}
	if err := errs(modules); err != nil {
		t.Error(err)
	}
	var b strings.Builder
	if err := write(&b, modules); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nGo go1.", "\ngonum.org/v1/gonum v", "BSD-3-Clause\n", "The Gonum Authors",
		"Apache License", "(NOTICE.txt)", "Permission is hereby granted"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
}

// Licenses that are not accepted are found, and so are modules without one.
func TestErrors(t *testing.T) {
	const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy of this\nsoftware and " +
		"associated documentation files (the \"Software\")"
	for want, strs := range map[string]map[string]string{
		"":                                  {"LICENSE": mit},
		"no accepted licence in []":         {},
		`no accepted licence in ["README"]`: {"README": mit[:20]},
		"NOTICE contains": {"LICENSE": mit, "NOTICE": "parts are under the GNU Lesser\nGeneral Public " +
			"License"},
		"LICENSE contains":                     {"LICENSE": "Mozilla Public License, version 2.0"},
		"c/LICENSE is a licence":               {"LICENSE": mit, "c/LICENSE": "Ask me."},
		`no accepted licence in ["c/LICENSE"]`: {"c/LICENSE": mit},
	} {
		err := errs([]module{{name: "m", version: "v1", strs: strs}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", strs, err, want)
		}
	}
}
