package experiment

import (
	"runtime/debug"
	"testing"
)

// A model says of which version of this module it is, in whatever program the module is built; a folder in the place of a
// release is none, so that one commit gives one model file with the command and with a module beside it.
func TestVersionIn(t *testing.T) {
	revision := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}}
	dependency := func(replace *debug.Module) []*debug.Module {
		return []*debug.Module{{Path: "example.org/other", Version: "v9.0.0"}, {Path: module, Version: "v0.0.0", Replace: replace}}
	}
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"nothing is recorded":             {nil, "devel"},
		"the command, released":           {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "v1.2.3"}, Settings: revision}, "v1.2.3"},
		"the command, without git":        {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, "devel"},
		"the command, in a checkout":      {&debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}, Settings: revision}, "devel-0123456789ab"},
		"a module beside it":              {&debug.BuildInfo{Main: debug.Module{Path: module + "/distributed/beam"}, Deps: dependency(&debug.Module{Path: "../.."}), Settings: revision}, "devel-0123456789ab"},
		"a module beside it, without git": {&debug.BuildInfo{Main: debug.Module{Path: module + "/distributed/beam"}, Deps: dependency(&debug.Module{Path: "../..", Version: "(devel)"})}, "devel"},
		"a program with a release":        {&debug.BuildInfo{Main: debug.Module{Path: "example.org/program"}, Deps: dependency(nil), Settings: revision}, "v0.0.0"},
		"a program with a folder":         {&debug.BuildInfo{Main: debug.Module{Path: "example.org/program"}, Deps: dependency(&debug.Module{Path: "../bochner"}), Settings: revision}, "devel"},
		"a program with a fork":           {&debug.BuildInfo{Main: debug.Module{Path: "example.org/program"}, Deps: dependency(&debug.Module{Path: "example.org/fork", Version: "v1.2.4"})}, "v1.2.4"},
	} {
		if got := versionIn(c.info); got != c.want {
			t.Errorf("%s: %q, wanted %q", name, got, c.want)
		}
	}
}

// A version that the linker was told goes before all others.
func TestReleaseByTheLinker(t *testing.T) {
	release = "v1.2.3"
	defer func() { release = "" }()
	if got := Version().Bochner; got != "v1.2.3" {
		t.Errorf("%q, wanted that of the linker", got)
	}
}
