// Command fit fits the pipeline of an experiment file on a runner of Beam, prism in this process if none is named:
//
//	go run ./fit -spec adult.yaml -shards 64 -store /shared/job -passes 12
//
// Flags of the runners are Beam's own: -runner, -endpoint and others.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	beamjob "github.com/bochner-ml/bochner/distributed/beam"
)

// list is a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, " ") }

func (l *list) Set(text string) error {
	*l = append(*l, text)
	return nil
}

func main() {
	var j beamjob.Job
	spec := flag.String("spec", "", "experiment file")
	flag.IntVar(&j.Shards, "shards", 16, "into how many shards the rows are cut")
	flag.StringVar(&j.Store, "store", "", "folder that all workers reach, of this job alone")
	flag.StringVar(&j.Model, "model", "", "file to write the model to; model.bochner in the store when left out")
	flag.IntVar(&j.Passes, "passes", 12, "how many passes over the rows there may be")
	flag.Var((*list)(&j.Set), "set", "path=value: a value of the file that is replaced; may be repeated")
	flag.Parse()
	beam.Init()
	if err := fit(j, *spec); err != nil {
		log.Fatal(err)
	}
}

func fit(j beamjob.Job, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if j.File, err = filepath.Abs(file); err != nil {
		return err
	}
	j.Spec = string(text)
	if err := j.Check(); err != nil {
		return err
	}
	p, s := beam.NewPipelineWithRoot()
	beamjob.Fit(s, j)
	if err := beamx.Run(context.Background(), p); err != nil {
		return fmt.Errorf("the pipeline: %w", err)
	}
	return nil
}
