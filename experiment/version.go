package experiment

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/bochner-ml/bochner/experiment/result"
)

// release is the version set by builds without git and without a module proxy, such as those of
// distributions: -ldflags "-X github.com/bochner-ml/bochner/experiment.release=v0.1.0". In other
// builds the Go command records the module version.
var release string

// Version returns the versions of the running program, as its build recorded them. Of this module that is a tag such
// as v0.1.0, a pseudo-version of Go modules for a commit that has none, or "devel" where the build did not know.
func Version() result.Versions {
	if release != "" {
		return result.Versions{Bochner: release, Go: runtime.Version()}
	}
	info, _ := debug.ReadBuildInfo()
	return result.Versions{Bochner: versionIn(info), Go: runtime.Version()}
}

// versionIn returns the version of this module in the build information, which may be nil. A module
// replaced by a directory has no version, even if go.mod requires one.
func versionIn(info *debug.BuildInfo) string {
	version := ""
	if info == nil {
		return "devel"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module {
			if m.Replace != nil {
				m = m.Replace
			}
			version = m.Version
			break
		}
	}
	if version != "" && version != "(devel)" {
		return version
	}
	if own := info.Main.Path; own == module || strings.HasPrefix(own, module+"/") { // of one repository
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "devel-" + s.Value[:12]
			}
		}
	}
	return "devel"
}

const module = "github.com/bochner-ml/bochner"
