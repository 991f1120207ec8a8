//go:build race

package pipeline_test

// underRace says that pools drop what is put into them at random, so that allocations cannot be counted.
const underRace = true
