// Command bochner runs experiments with kernel machines by random features. One YAML file describes
// the data, the model, the search and the output.
//
//	bochner init rows.csv        # writes a commented experiment file for the data
//	bochner run rows.yaml        # reads, searches, fits, tests, saves
//	bochner predict runs/rows/model.bochner new.csv
//
// The exit code is 0 on success, 1 on failure with one message on standard error, 2 for a usage error, and
// 130 after an interrupt (Ctrl-C or SIGTERM).
package main

import (
	"github.com/bochner-ml/bochner/distributed/store"
	"github.com/bochner-ml/bochner/distributed/store/s3"
	"github.com/bochner-ml/bochner/internal/command"
	"github.com/bochner-ml/bochner/serve/grpc"
)

// parts are all parts of the command; the drivers of databases register themselves.
var parts = command.Parts{
	Stores:    store.Schemes{"s3": s3.New(), "gs": googleStorage()},
	ServeGRPC: grpc.Serve, Trace: traced,
}

func main() { command.Main(parts) }
