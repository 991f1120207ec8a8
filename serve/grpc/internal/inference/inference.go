// Package inference has the messages of the Open Inference Protocol, version 2, as protocol
// buffers. They are generated, by the protoc of grpcio-tools 1.81.1, a package of Python, and the
// protoc-gen-go of go.mod, both of which are to be in the PATH:
//
//	pip install grpcio-tools==1.81.1
//	go install google.golang.org/protobuf/cmd/protoc-gen-go
//	go generate ./serve/grpc/...
package inference

//go:generate python3 -m grpc_tools.protoc -I. --go_out=. --go_opt=paths=source_relative inference.proto
