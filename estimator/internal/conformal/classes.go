package conformal

// Outputs returns the number of outputs per row of a classifier, with probabilities or only scores.
func Outputs(classes int, probabilities bool) int {
	if classes == 2 && !probabilities {
		return 1
	}
	return classes
}

// Strangeness returns the nonconformity score of a class: its negated probability or decision
// score; with a single score s of two classes, s for the first and −s for the second. It yields the
// least ambiguous sets. (Sadinle, Lei and Wasserman, JASA 2019.)
func Strangeness(output []float64, class int) float64 {
	if len(output) > 1 {
		return -output[class]
	}
	if class == 1 {
		return -output[0]
	}
	return output[0]
}

// Set writes 1 for each class with a nonconformity score of at most most, and 0 for the others. In
// a new row the true class is among them with the probability of the rank. The class with the
// lowest score is always included, which only increases coverage, so no set is empty. The sets are
// not randomized.
func Set(dst, output []float64, most float64) {
	best := 0
	for c := range dst {
		strange := Strangeness(output, c)
		if dst[c] = 0; strange <= most {
			dst[c] = 1
		}
		if strange < Strangeness(output, best) {
			best = c
		}
	}
	dst[best] = 1
}
