package command

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/bochner-ml/bochner/experiment"
)

type versionCommand struct{}

func (versionCommand) Help() string { return "Example: bochner version --json" }

// version is the build information.
type version struct {
	Bochner  string `json:"bochner"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`     // of the revision
	Modified bool   `json:"modified,omitempty"` // whether the sources were others than the revision's
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionOf(info *debug.BuildInfo) version {
	versions := experiment.Version()
	v := version{Bochner: versions.Bochner, Go: versions.Go, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (versionCommand) Run(s *session) error {
	info, _ := debug.ReadBuildInfo()
	v := versionOf(info)
	if s.json {
		return s.print(v)
	}
	t := columns(s.out)
	fmt.Fprintf(t, "bochner\t%s\n", v.Bochner)
	if v.Revision != "" {
		changed := ""
		if v.Modified {
			changed = ", modified"
		}
		fmt.Fprintf(t, "revision\t%s of %s%s\n", v.Revision, v.Time, changed)
	}
	fmt.Fprintf(t, "go\t%s %s\n", v.Go, v.Platform)
	return t.Flush()
}

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"Command. Default: all commands."`
}

func (helpCommand) Help() string { return "Example: bochner help predict" }

func (c helpCommand) Run(k *kong.Kong) error {
	call, err := kong.Trace(k, c.Command)
	if err == nil {
		err = call.Error
	}
	if err != nil {
		return usageError{err}
	}
	return call.PrintUsage(false)
}

// usageError is an error in the usage of a command.
type usageError struct{ error }
