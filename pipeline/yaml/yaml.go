// Package yaml reads and writes pipelines as YAML documents. It reports all errors at once.
//
// [Decode] supports all registered steps ([pipeline.Register]): it reads the parameters that a step
// declares, and the children of a [pipeline.Composite] as its ChildrenSpec describes them.
package yaml

// Origin describes the source of a document and its defaults.
type Origin struct {
	File string // for messages
	Path string // of the node within the document: "pipeline"
	Seed uint64 // seed of the experiment; a step without a seed uses [pipeline.DeriveSeed]
}
