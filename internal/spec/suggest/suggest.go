// Package suggest helps with names in messages: suggestions for misspelled names, lists of
// alternatives, and valid names.
package suggest

import (
	"fmt"
	"strings"
)

// synonyms maps names of scikit-learn and other libraries, in lower case without underscores, to the
// corresponding names of this module, the most likely first.
var synonyms = map[string][]string{
	"ncomponents":   {"features", "landmarks", "components"},
	"nfeatures":     {"features"},
	"dim":           {"features"},
	"nclusters":     {"clusters"},
	"k":             {"clusters"},
	"ninit":         {"restarts"},
	"randomstate":   {"seed"},
	"lambda":        {"alpha", "C"},
	"reg":           {"alpha", "C"},
	"l2":            {"alpha", "C"},
	"alpha":         {"C"},
	"c":             {"alpha"},
	"sigma":         {"gamma"},
	"lengthscale":   {"gamma"},
	"fitintercept":  {"intercept"},
	"maxiter":       {"max_iter", "epochs"},
	"lr":            {"learning_rate", "eta0"},
	"batchsize":     {"batch"},
	"classweights":  {"class_weight"},
	"cv":            {"folds"},
	"scoring":       {"score"},
	"fill":          {"fill_value"},
	"rest":          {"remainder"},
	"choose":        {"selection"},
	"handleunknown": {"unknown"},
	"minfrequency":  {"min_count"},
	"rbf":           {"gaussian", "rff"},

	"svc":                        {"svm", "kernel_svm"},
	"linearsvc":                  {"svm"},
	"linearsvr":                  {"svr"},
	"linear":                     {"ridge"},
	"linearregression":           {"ridge"},
	"logisticregression":         {"logistic"},
	"poissonregressor":           {"poisson"},
	"gammaregressor":             {"gamma_regression"},
	"gamma":                      {"gamma_regression"},
	"tweedieregressor":           {"tweedie"},
	"huberregressor":             {"huber"},
	"ransacregressor":            {"huber"},
	"theilsenregressor":          {"huber"},
	"quantileregressor":          {"quantile_regression"},
	"elasticnet":                 {"elastic_net"},
	"krr":                        {"kernel_ridge"},
	"gp":                         {"gaussian_process"},
	"gpr":                        {"gaussian_process"},
	"gaussianprocessregressor":   {"gaussian_process"},
	"gaussianprocessclassifier":  {"logistic"},
	"mlp":                        {"rff_network"},
	"mlpclassifier":              {"rff_network"},
	"mlpregressor":               {"rff_network"},
	"neuralnetwork":              {"rff_network"},
	"oneclasssvm":                {"one_class"},
	"spectralclustering":         {"spectral"},
	"rbfsampler":                 {"rff"},
	"randomfourier":              {"rff"},
	"polynomialcountsketch":      {"polynomial_sketch"},
	"additivechi2sampler":        {"additive_chi2"},
	"skewedchi2sampler":          {"skewed_chi2"},
	"scaler":                     {"standardize"},
	"standardscaler":             {"standardize"},
	"minmaxscaler":               {"minmax"},
	"robustscaler":               {"robust"},
	"quantiletransformer":        {"quantile"},
	"onehotencoder":              {"onehot"},
	"ordinalencoder":             {"ordinal"},
	"targetencoder":              {"target_encode"},
	"featurehasher":              {"hash"},
	"tfidfvectorizer":            {"tfidf"},
	"countvectorizer":            {"tfidf"},
	"hashingvectorizer":          {"tfidf"},
	"truncatedsvd":               {"pca"},
	"mindf":                      {"min_count"},
	"ngramrange":                 {"ngrams"},
	"sublineartf":                {"sublinear"},
	"simpleimputer":              {"impute"},
	"columntransformer":          {"columns"},
	"featureunion":               {"union"},
	"transformedtargetregressor": {"target"},
	"calibratedclassifiercv":     {"calibrated"},
	"tunedthresholdclassifiercv": {"threshold"},
	"stackingclassifier":         {"ensemble"},
	"stackingregressor":          {"ensemble"},
	"votingclassifier":           {"ensemble"},
	"votingregressor":            {"ensemble"},
	"of":                         {"estimator"}, // this and the next three: names of earlier development versions
	"least":                      {"min_resources"},
	"most":                       {"max_resources"},
	"optimise":                   {"optimize"},
}

// synonym returns the option that corresponds to the name word of another library, or "". An option
// may be a path that ends in that name.
func synonym(word string, options []string) string {
	if inner := strings.ReplaceAll("."+word, ".of.", ".estimator.")[1:]; inner != word {
		return Nearest(inner, options)
	}
	at := strings.LastIndexByte(word, '.') + 1
	for _, name := range synonyms[strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(word[at:]))] {
		for _, o := range options {
			if o == word[:at]+name || strings.HasSuffix(o, "."+word[:at]+name) {
				return o
			}
		}
	}
	return ""
}

// Nearest returns the option that the misspelled word most likely means, or "": the equivalent of a
// name of another library, else the option with the smallest edit distance, at most a third of the
// length of word.
func Nearest(word string, options []string) string {
	if o := synonym(word, options); o != "" {
		return o
	}
	best, distance := "", (len(word)+1)/3+1
	for _, o := range options {
		if d := editDistance(strings.ToLower(word), strings.ToLower(o)); d < distance {
			best, distance = o, d
		}
	}
	return best
}

// editDistance returns the optimal string alignment distance of a and b: the number of insertions,
// deletions, substitutions and transpositions of adjacent characters.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	older, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		older, last, row = last, row, older
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], older[j-2]+1)
			}
		}
	}
	return row[len(y)]
}

// List joins names with commas, at most a dozen of them.
func List(names []string) string {
	const maxNames = 12
	if len(names) > maxNames {
		return strings.Join(names[:maxNames], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}

// Alternatives joins options as "a, b or c".
func Alternatives(options []string) string {
	switch n := len(options); n {
	case 0:
		return "nothing"
	case 1:
		return options[0]
	default:
		return strings.Join(options[:n-1], ", ") + " or " + options[n-1]
	}
}

// ValidName reports whether name is not empty and consists of letters, digits, "_" and "-", so that it
// can be part of a path and of a file name.
func ValidName(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r > 127:
		default:
			return false
		}
	}
	return name != ""
}

// Encoders names the steps that make numbers of a column of the given kind, "text" or "categorical".
func Encoders(kind string, categories int) string {
	const many = 50
	switch {
	case kind == "text":
		return "tfidf"
	case categories > many:
		return "target_encode or hash"
	}
	return "onehot or ordinal"
}
