// Command bochner runs experiments with kernel machines by random features. One YAML file describes
// the data, the model, the search and the output.
//
//	bochner init rows.csv        # writes a commented experiment file for the data
//	bochner run rows.yaml        # reads, searches, fits, tests, saves
//	bochner predict runs/rows/model.bochner new.csv
//
// The exit code is 0 on success, 1 on failure with one message on standard error, 2 for a usage error, and
// 130 after an interrupt (Ctrl-C or SIGTERM).
//
// This is the command without stores of objects, drivers of databases, gRPC and traces, whose dependencies are large.
// The released one, distributed/cmd/bochner, has them.
package main

import "github.com/bochner-ml/bochner/experiment/command"

func main() { command.Parts{}.Main() }
