// Command bochner is the complete command, that of the releases: it adds to that of the root module stores of objects, drivers of
// databases, files of Arrow, gRPC and traces.
//
//	cd distributed && go build ./cmd/bochner
//	cd distributed && go build -tags gs ./cmd/bochner     # with gs:// URLs
package main

import (
	_ "github.com/bochner-ml/bochner/datasets/arrow" // files and streams of Arrow
	"github.com/bochner-ml/bochner/distributed/grpc"
	"github.com/bochner-ml/bochner/distributed/internal/store/s3"
	"github.com/bochner-ml/bochner/experiment/command"
	"github.com/bochner-ml/bochner/internal/runtime/store"
)

// parts are all parts of the command; the drivers of databases register themselves.
var parts = command.Parts{
	Stores:    store.Schemes{"s3": s3.New(), "gs": googleStorage()},
	ServeGRPC: grpc.Serve, Trace: traced,
}

func main() { parts.Main() }
