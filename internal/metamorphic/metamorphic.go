// Package metamorphic holds the house to itself: whatever a pipeline is, and whatever it is fitted to,
// it must say the same however the work is done. Its test draws data and pipelines at random and fits
// each in many ways: in memory, as a stream or in merged parts, with features kept or made again, on one core or on
// seven, alone or among the candidates of a search, before and after a model file, rows and columns in
// another order. Nobody has to know the right answer; the answers have to agree. Another test fits pipelines to streams
// of few and of many rows, and what they hold has to agree.
//
//	go test ./internal/metamorphic                          some seconds
//	go test ./internal/metamorphic -metamorphic 5m -timeout 10m
//	go test ./internal/metamorphic -seed 1234               one case again
package metamorphic
