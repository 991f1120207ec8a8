// Package yaml writes pipelines as YAML documents and reads them, with every fault at once.
//
// [Decode] takes any step that is registered ([pipeline.Register]): its parameters are those it
// declares, and what a [pipeline.Composite] holds is read as it describes it.
package yaml

// Origin says where a document comes from and what it leaves open.
type Origin struct {
	File string // for messages
	Path string // of the node within the document: "pipeline"
	Seed uint64 // the experiment's; a step that gives no seed has one of its own, [pipeline.DeriveSeed]
}
