//go:build race

package pipeline_test

// underRace disables allocation counts: under the race detector pools drop items at random.
const underRace = true
