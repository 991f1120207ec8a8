package experiment

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/experiment/document"
	"github.com/bochner-ml/bochner/experiment/result"
)

// EarlierRun is the error of a run that would replace another one's results: output.dir holds a finished
// run of another spec or of other data. Options.Force replaces them.
type EarlierRun struct {
	Dir         string
	Differences []string // "pipeline.rff.gamma: 0.05 → 0.1"
}

// Error says what differs, and the ways out.
func (e *EarlierRun) Error() string {
	const most = 8
	lines := e.Differences
	if len(lines) > most {
		lines = append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
	}
	return fmt.Sprintf("experiment: %s holds the results of another run, which this one would replace:\n  %s\n--force replaces them, --set output.dir=… keeps both", e.Dir, strings.Join(lines, "\n  "))
}

// earlier returns an [*EarlierRun] where the output folder has a finished run that differs from this
// one in more than names and the time it may take.
func earlier(s Spec, data result.Digests, before *result.Before) error {
	at := filepath.Join(s.Output.Dir, "spec.yaml")
	text, err := os.ReadFile(at)
	if err != nil {
		return nil
	}
	then, err := os.ReadFile(filepath.Join(s.Output.Dir, "result.json"))
	if err != nil {
		return nil // it has not come to an end
	}
	out := &EarlierRun{Dir: s.Output.Dir}
	var result Result
	if err := json.Unmarshal(then, &result); err != nil {
		out.Differences = []string{"result.json: it cannot be read"}
		return out
	}
	old, err := document.ValuesOf(at, text)
	if err != nil {
		out.Differences = []string{"spec.yaml: it cannot be read: " + strings.Split(err.Error(), "\n")[0]}
		return out
	}
	now, err := s.Encode(at)
	if err != nil {
		return err
	}
	own, err := document.ValuesOf(at, now)
	if err != nil {
		return err
	}
	for _, d := range old.Differences(own) {
		out.Differences = append(out.Differences, d.String())
	}
	for _, d := range otherFiles(result, Result{SHA256: data, Before: before}) {
		what := "other contents"
		if d.Path == continued {
			what = "another model"
		}
		out.Differences = append(out.Differences, fmt.Sprintf("%s: %s (SHA-256 %s → %s)", d.Path, what, d.Then, d.Now))
	}
	if len(out.Differences) == 0 {
		return nil
	}
	return out
}

// continued is the flag that names the model that a run learns on from.
const continued = "--continue"

// otherFiles lists the files that two runs have read which are not the same, by the beginnings of their digests.
func otherFiles(then, now Result) (out []document.Difference) {
	for _, file := range []struct{ path, then, now string }{
		{"data.train", then.SHA256.Train, now.SHA256.Train},
		{"data.test", then.SHA256.Test, now.SHA256.Test},
		{continued, digestOf(then.Before), digestOf(now.Before)},
	} {
		if file.then != file.now {
			out = append(out, document.Difference{Path: file.path, Then: start(file.then), Now: start(file.now)})
		}
	}
	return out
}

// digestOf is that of a model before, "" for none.
func digestOf(b *result.Before) string {
	if b == nil {
		return ""
	}
	return b.SHA256
}

// start is the beginning of a digest.
func start(digest string) string {
	if len(digest) < 12 {
		return "none"
	}
	return digest[:12] + "…"
}
