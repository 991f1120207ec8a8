package experiment

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"
)

// A model records the version of this module, in any program that contains the module; a replaced
// directory has none, so that one commit gives one model file in the command and in other modules.
func TestVersionIn(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}
	dependency := func(replace *debug.Module) []*debug.Module {
		return []*debug.Module{{Path: "example.org/other", Version: "v9.0.0"},
			{Path: module, Version: "v0.0.0", Replace: replace}}
	}
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"nothing is recorded": {nil, "devel"},
		"the command, released": {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"},
			Settings: revision}, "v1.2.3"},
		"the command, without git": {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, "devel"},
		"the command, in a checkout": {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"},
			Settings: revision}, "devel-0123456789ab"},
		"another module of it": {&debug.BuildInfo{Main: debug.Module{Path: module + "/distributed"},
			Deps: dependency(&debug.Module{Path: "../.."}), Settings: revision}, "devel-0123456789ab"},
		"another module of it, without git": {&debug.BuildInfo{Main: debug.Module{Path: module + "/distributed"},
			Deps: dependency(&debug.Module{Path: "../..", Version: "(devel)"})}, "devel"},
		"a program with a release": {&debug.BuildInfo{Main: debug.Module{Path: "example.org/program"},
			Deps: dependency(nil), Settings: revision}, "v0.0.0"},
		"a program with a folder": {&debug.BuildInfo{Main: debug.Module{Path: "example.org/program"},
			Deps: dependency(&debug.Module{Path: "../bochner"}), Settings: revision}, "devel"},
		"a program with a fork": {&debug.BuildInfo{Main: debug.Module{Path: "example.org/program"},
			Deps: dependency(&debug.Module{Path: "example.org/fork", Version: "v1.2.4"})}, "v1.2.4"},
	} {
		if got := versionIn(c.info); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A version set by the linker takes precedence.
func TestReleaseByTheLinker(t *testing.T) {
	release = "v1.2.3"
	defer func() { release = "" }()
	if got := Version().Bochner; got != "v1.2.3" {
		t.Errorf("%q, want that of the linker", got)
	}
}

// TestResultsOfHugeTargets checks that the results of a fit to huge targets can be written and
// read, whatever its diagnostics give.
func TestResultsOfHugeTargets(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := context.Background()
	rows := func(huge func(i int, y float64) float64) string {
		var b strings.Builder
		b.WriteString("a,b,y\n")
		for i := range 120 {
			a, c := float64(i%17)/4-2, float64(i*i%23)/6-2
			fmt.Fprintf(&b, "%v,%v,%v\n", a, c, huge(i, a*c+float64(i%5)/9))
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		rows  string
		model string
	}{
		"one of 1e80": {rows(func(i int, y float64) float64 { return map[bool]float64{true: 1e80, false: y}[i == 60] }),
			"ridge"},
		"one of 1e154": {rows(func(i int, y float64) float64 { return map[bool]float64{true: 1e154, false: y}[i == 60] }),
			"kernel_ridge"},
		"intervals": {rows(func(i int, y float64) float64 { return map[bool]float64{true: 1e154, false: y}[i == 60] }),
			"intervals: {estimator: ridge}"},
		"all of 1e307": {rows(func(i int, _ float64) float64 { return float64(i%2*2-1) * float64(i%13+1) * 1e306 }),
			"intervals: {estimator: ridge}"},
		"a searched one": {rows(func(i int, y float64) float64 { return map[bool]float64{true: 1e154, false: y}[i == 60] }),
			"ridge\nsearch: {grid: {ridge.alpha: [1.0, 10.0]}, folds: 3}"},
	} {
		put(t, "rows.csv", c.rows)
		s := spec(t, "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline:\n- standardize\n- "+c.model+"\n")
		s.Output.Dir = "out"
		found, err := Run(ctx, s, Options{Force: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range found.Warnings {
			if strings.Contains(w, "report.html is not written") {
				t.Errorf("%s: %s", name, w)
			}
		}
		back, err := ReadRun("out")
		if err != nil || len(back.Test) != len(found.Test) {
			t.Errorf("%s: %v", name, err)
		}
		for metric, v := range found.Test {
			if got := back.Test[metric]; got != v && (v-v == 0 || got == got) {
				t.Errorf("%s: %s is %v in the file, want %v", name, metric, got, v)
			}
		}
		if _, err := (Options{}).Report(context.Background(), "out"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
