package main

import (
	. "github.com/mmcloughlin/avo/build"
)

// peakChains is the number of independent chains of multiply-adds. It exceeds latency times ports.
const peakChains = 12

// peak writes the loops that measure the peak throughput of a core.
func peak() {
	for _, t := range targets {
		TEXT(t.name("peak"), NOSPLIT, "func(rounds int)")
		Doc(t.name("peak") + " makes rounds times 12 independent multiply-adds of one register each.")
		rounds := param("rounds")
		for i := range peakChains + 1 {
			t.zero(t.vector(i))
		}
		loop("loop", rounds, func() {
			for i := range peakChains {
				t.fma(t.vector(peakChains), t.vector(peakChains), t.vector(i))
			}
		})
		done()
	}
}
