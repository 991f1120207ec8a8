// Package yaml reads and writes pipelines as YAML documents. It reports all errors at once.
//
// [Decode] takes any step that is registered ([pipeline.Register]): its parameters are those it
// declares, and what a [pipeline.Composite] holds is read as it describes it.
package yaml

// Origin describes the source of a document and its defaults.
type Origin struct {
	File string // for messages
	Path string // of the node within the document: "pipeline"
	Seed uint64 // the experiment's; a step that gives no seed has one of its own, [pipeline.DeriveSeed]
}
