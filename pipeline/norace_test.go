//go:build !race

package pipeline_test

const underRace = false
