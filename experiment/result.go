package experiment

import (
	"runtime"
	"runtime/debug"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment/result"
)

// Result is what a run found, as result.json holds it.
type Result = result.Result

// membersOf returns the members of the ensemble that a model is or holds, none where there is none.
func membersOf(m estimator.Predictor) (out []result.MemberWeight) {
	var c meta.Combination
	if estimator.As(m, &c) {
		for _, one := range c.Combined() {
			out = append(out, result.MemberWeight{Name: one.Name, Weight: one.Weight})
		}
	}
	return out
}

// Version returns the versions of the running program, as its build recorded them.
func Version() result.Versions {
	v := result.Versions{Bochner: "devel", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Path == module && info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Bochner = info.Main.Version
		return v
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			v.Bochner = dependency.Version
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && v.Bochner == "devel" && len(s.Value) >= 12 {
			v.Bochner = "devel-" + s.Value[:12]
		}
	}
	return v
}

const module = "github.com/bochner-ml/bochner"
