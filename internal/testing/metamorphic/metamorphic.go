// Package metamorphic tests that results do not depend on how the work is done. Its test draws data
// and pipelines at random and fits each in many ways: in memory, as a stream or in merged parts,
// with cached or recomputed features, on one core or seven, alone or among the candidates of a
// search, before and after serialization, with permuted rows and columns. The results must agree;
// no reference is needed. Another test compares the memory of fits to short and long streams.
//
//	go test ./internal/testing/metamorphic                          some seconds
//	go test ./internal/testing/metamorphic -metamorphic 5m -timeout 10m
//	go test ./internal/testing/metamorphic -seed 1234               one case again
package metamorphic
