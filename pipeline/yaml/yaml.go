// Package yaml reads and writes pipelines as YAML documents. It reports all errors at once.
//
// [Decode] accepts any registered step ([pipeline.Register]) with its declared parameters, and the
// children of a [pipeline.Composite] as described by Holds.
package yaml

// Origin describes the source of a document and its defaults.
type Origin struct {
	File string // file name, for messages
	Path string // path of the node in the document, such as "pipeline"
	Seed uint64 // seed of the experiment, from which unspecified seeds of steps are derived

	// Fitted means that the document is the spec of a fitted pipeline. Its parameters are then not checked against
	// each other, because it lacks the functions that only a program can set; a fit checks them again.
	Fitted bool
}
