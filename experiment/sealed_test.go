package experiment

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/estimator/anomaly"
	"github.com/bochner-ml/bochner/estimator/cluster"
	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/matrices"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// people are rows with two columns of numbers, one with gaps, and two of levels; numbers are only the
// former, without gaps.
func people(n int) (all, numbers datasets.Set) {
	rng := rand.New(rand.NewPCG(1, 2))
	X, Z, y := mat.NewDense(n, 4, nil), mat.NewDense(n, 2, nil), make([]float64, n)
	for i := range n {
		age, gain := rng.NormFloat64(), rng.ExpFloat64()
		color, size := float64(rng.IntN(3)), float64(rng.IntN(2))
		y[i] = float64(min(2, int(math.Abs(age)+gain/2+color/3)))
		Z.SetRow(i, []float64{age, gain})
		if i%7 == 3 {
			gain = math.NaN()
		}
		X.SetRow(i, []float64{age, color, gain, size})
	}
	target := []datasets.Column{{Name: "rich", Kind: datasets.Categorical, Categories: []string{"no", "so so", "yes"}}}
	all = datasets.Set{X: X, Y: y, Schema: datasets.Schema{Targets: target, Columns: []datasets.Column{{Name: "age"},
		{Name: "colour", Kind: datasets.Categorical, Categories: []string{"blue", "green", "red"}}, {Name: "gain"},
		{Name: "size", Kind: datasets.Categorical, Categories: []string{"S", "M"}}}}}
	return all, datasets.Set{X: Z, Y: y, Schema: datasets.Schema{Targets: target,
		Columns: []datasets.Column{{Name: "age"}, {Name: "gain"}}}}
}

// sealedModels returns model files with every registered step and estimator, in every form.
func sealedModels(t testing.TB) map[string][]byte {
	all, numbers := people(48)
	twoClasses, amounts, several, unnamed := numbers, numbers, numbers, numbers
	twoClasses.Y = slices.Clone(numbers.Y)
	for i, y := range twoClasses.Y {
		twoClasses.Y[i] = min(y, 1)
	}
	twoClasses.Schema.Targets = []datasets.Column{{Name: "rich", Kind: datasets.Categorical,
		Categories: []string{"no", "yes"}}}
	amounts.Schema.Targets = []datasets.Column{{Name: "amount"}}
	aboveZero := amounts
	aboveZero.Y = slices.Clone(numbers.Y)
	for i := range aboveZero.Y {
		aboveZero.Y[i] += 0.5
	}
	several.Y, several.Targets = nil, mat.NewDense(48, 2, slices.Concat(numbers.Y, numbers.Y))
	several.Schema.Targets = []datasets.Column{{Name: "a"}, {Name: "b"}}
	labels := several
	labels.Targets = mat.NewDense(48, 2, slices.Concat(twoClasses.Y, twoClasses.Y))
	labels.Schema.Targets = []datasets.Column{{Name: "a", Kind: datasets.Categorical, Categories: []string{"no", "yes"}},
		{Name: "b", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	unnamed.Schema.Columns = nil
	thin := unnamed
	thin.X = matrices.CSRFromDense(numbers.X)
	rff := transformer.NewRFF()
	rff.Features, rff.Seed, rff.Kernel = 6, 3, "matern"
	phase := rff
	phase.Map, phase.Kernel = "phase", "rational_quadratic"
	structured := phase
	structured.Draw, structured.Kernel = "structured", kernel.Product(kernel.NewTerm(kernel.Exponential, "rest"))
	bins, hashed := transformer.NewBinning(), transformer.NewBinning()
	bins.Grids, hashed.Grids, hashed.Columns, hashed.Kernel = 3, 4, 12, "smooth"
	few := bins
	few.Inputs, few.InputWeights = 1, "scales"
	mixed := pipeline.NewUnion(rff, bins)
	mixed.Weights = []float64{0.25, 2}
	narrow := pipeline.Steps(transformer.NewStandardize(), rff).Then(estimator.NewSVR())
	narrow.Precision = pipeline.Float32
	imputed := transformer.NewImpute()
	imputed.Indicator = true
	group := func(columns string, steps ...transformer.Fitter) pipeline.Group {
		return pipeline.Group{Select: strings.Fields(columns), Steps: pipeline.Steps(steps...)}
	}
	groups := pipeline.NewColumns(group("age", transformer.NewRobust()), group("gain", imputed, transformer.NewMinMax()),
		group("categorical", transformer.NewOneHot()))
	groups.Remainder = "passthrough"
	levels := pipeline.NewColumns(group("categorical", transformer.NewOrdinal()), group("age"))
	means := pipeline.NewColumns(group("categorical", transformer.NewTargetEncode()), group("colour",
		transformer.Hash{Features: 4, Signed: true}), group("age"))
	words := all
	for j, c := range all.Schema.Columns {
		if c.Kind == datasets.Numeric {
			continue
		}
		strs := make([]string, all.Rows())
		for i := range strs {
			strs[i] = c.Categories[int(all.X.At(i, j))] + " and " + c.Categories[0]
		}
		var err error
		if words, err = words.WithText(c.Name+" in words", strs); err != nil {
			t.Fatal(err)
		}
	}
	terms := pipeline.NewColumns(group("text", transformer.NewTFIDF()), group("text", transformer.TFIDF{Analyzer: "char_wb",
		MinN: 2, MaxN: 3, MinCount: 1, Hashing: 8}), group("age"))
	terms.Groups[0].Name = "words"
	pca := transformer.NewPCA()
	pca.Whiten = true
	ranks, isotonic := meta.NewTarget(estimator.NewRidge()), meta.NewCalibrated(estimator.NewRidgeClassifier())
	ranks.Transform, ranks.Smear, isotonic.Method = "quantile", true, "isotonic"
	scales, outer, diagonal, landmarks := transformer.NewARD(), transformer.NewRFM(), transformer.NewRFM(),
		transformer.NewNystroem()
	scales.Features, scales.Steps, scales.Restarts, landmarks.Landmarks = 8, 3, 1, 5
	outer.Rounds, diagonal.Rounds, diagonal.Diagonal = 1, 1, true
	sure := func(method string, of estimator.Estimator) meta.Intervals {
		s := meta.NewIntervals(of)
		s.Method, s.Level = method, 0.5
		return s
	}
	byAge := sure("cqr", estimator.NewQuantileRegression())
	byAge.Group = amounts.Schema.Name(0)
	onward, averaged := estimator.NewSGDClassifier(), estimator.NewSGDRegressor()
	onward.Loss, onward.Average, averaged.Penalty = "log_loss", false, "l1"
	positive := transformer.NewSoftmaxFeatures()
	positive.Features = 5
	trained := estimator.NewRFFNetwork()
	trained.Layers, trained.Features, trained.Epochs, trained.Train = 2, 3, 2, []string{"frequencies", "phases"}
	process, plain := estimator.NewGaussianProcess(), estimator.NewGaussianProcess()
	process.Features, process.Steps, plain.Kernel = 6, 2, "linear"
	costly := meta.NewThreshold(estimator.NewLogistic())
	costly.Costs.Of = map[string]map[string]float64{"no": {"yes": 3}}
	files := map[string][]byte{}
	for name, c := range map[string]struct {
		p    pipeline.Pipeline
		data datasets.Set
	}{
		"groups":  {pipeline.Steps(groups, pipeline.NewChain(pca, phase)).Then(estimator.NewLogistic()), all},
		"levels":  {pipeline.Steps(levels, mixed).Then(estimator.NewRidgeClassifier()), all},
		"means":   {pipeline.Steps(means).Then(estimator.NewRidgeClassifier()), all},
		"terms":   {pipeline.Steps(terms).Then(estimator.NewRidgeClassifier()), words},
		"binary":  {pipeline.Steps(bins).Then(estimator.NewLogistic()), twoClasses},
		"classes": {pipeline.Steps(rff).Then(estimator.NewSVM()), numbers},
		"hashed": {pipeline.Steps(pipeline.Union{Parts: []pipeline.Step{{Name: "a", Fitter: hashed},
			{Name: "b", Fitter: bins}}}).Then(estimator.NewRidge()), amounts},
		"several": {pipeline.Steps(pipeline.NewColumns(group("age", phase))).Then(estimator.NewRidge()), several},
		"single":  {narrow, amounts},
		"thin": {pipeline.Steps(transformer.Dense{},
			pipeline.NewColumns(group("x1"))).Then(estimator.NewSVM()), thin},
		"ranks": {pipeline.Steps(transformer.NewQuantile(), transformer.NewScale(),
			few).Then(estimator.NewRidge()), amounts},
		"learned":           {pipeline.Steps(scales, diagonal, landmarks).Then(estimator.NewKernelRidge()), amounts},
		"turned":            {pipeline.Steps(outer).Then(estimator.NewKernelRidgeClassifier()), numbers},
		"process":           {pipeline.Steps(transformer.NewStandardize()).Then(process), amounts},
		"labels":            {pipeline.Steps(rff).Then(estimator.NewLogistic()), labels},
		"label thresholds":  {pipeline.Steps(rff).Then(meta.NewThreshold(estimator.NewLogistic())), labels},
		"several processes": {pipeline.Steps(pipeline.NewColumns(group("age gain"))).Then(plain), several},
		"kept":              {pipeline.Steps().Then(estimator.NewKernelRidgeClassifier()), thin},
		"bare":              {pipeline.Steps().Then(estimator.NewRidgeClassifier()), unnamed},
		"ranked":            {pipeline.Steps(pipeline.NewColumns(group("age gain"))).Then(ranks), several},
		"steps":             {pipeline.Steps(bins).Then(isotonic), numbers},
		"cut":               {pipeline.Steps(rff).Then(meta.NewThreshold(estimator.NewLogistic())), twoClasses},
		"cut scores":        {pipeline.Steps(rff).Then(meta.NewThreshold(estimator.NewRidgeClassifier())), twoClasses},
		"costs":             {pipeline.Steps(rff).Then(costly), numbers},
		"members": {pipeline.Steps().Then(meta.NewEnsemble(meta.Member{Name: "a",
			Estimator: pipeline.Steps(rff).Then(estimator.NewLogistic())},
			meta.Member{Name: "b", Estimator: estimator.NewSVM()})), twoClasses},
		"angles": {pipeline.Steps(positive).Then(estimator.NewRidge()), amounts},
		"sketched": {pipeline.Steps(transformer.NewMinMax(), pipeline.NewUnion(transformer.PolynomialSketch{Degree: 2,
			Gamma: kernel.FixedGamma(1), Coef0: 1, Features: 6}, transformer.NewAdditiveChi2(),
			transformer.SkewedChi2{Features: 3, Skewedness: 1})).Then(estimator.NewRidge()), amounts},
		"onward":    {pipeline.Steps(rff).Then(onward), twoClasses},
		"hinges":    {pipeline.Steps(pipeline.NewColumns(group("age gain"))).Then(estimator.NewSGDClassifier()), numbers},
		"fallen":    {pipeline.Steps(bins).Then(averaged), amounts},
		"trained":   {pipeline.Steps().Then(trained), several},
		"trained 2": {pipeline.Steps().Then(trained), numbers},
		"sure":      {pipeline.Steps(rff).Then(sure("jackknife_plus", estimator.NewRidge())), several},
		"kernels":   {pipeline.Steps().Then(sure("jackknife_plus", estimator.NewKernelRidge())), amounts},
		"split":     {pipeline.Steps().Then(sure("split", pipeline.Steps(rff).Then(estimator.NewRidge()))), amounts},
		"quantiles": {pipeline.Steps().Then(byAge), amounts},
		"sets":      {pipeline.Steps(rff).Then(sure("split", estimator.NewLogistic())), numbers},
		"centres":   {pipeline.Steps(rff).Then(cluster.NewKMeans()), numbers},
		"graph":     {pipeline.Steps(bins).Then(cluster.Spectral{Clusters: 2, Restarts: 1, Tol: 1e-3, MaxIter: 50}), numbers},
		"unlike":    {pipeline.Steps(rff).Then(anomaly.NewOneClass()), numbers},
		"mixed":     {pipeline.Steps(structured).Then(estimator.NewRidge()), amounts},

		"poisson":                  {pipeline.Steps(rff).Then(estimator.NewPoisson()), aboveZero},
		"gamma":                    {pipeline.Steps(rff).Then(estimator.NewGammaRegression()), aboveZero},
		"tweedie":                  {pipeline.Steps(rff).Then(estimator.NewTweedie()), aboveZero},
		"huber":                    {pipeline.Steps(rff).Then(estimator.NewHuber()), amounts},
		"lasso":                    {pipeline.Steps(rff).Then(estimator.NewLasso()), amounts},
		"elastic_net":              {pipeline.Steps(rff).Then(estimator.NewElasticNet()), amounts},
		"quantile":                 {pipeline.Steps(rff).Then(estimator.NewQuantileRegression()), amounts},
		"support vectors, classes": {pipeline.Steps().Then(estimator.NewKernelSVM()), numbers},
		"support vectors":          {pipeline.Steps().Then(estimator.NewKernelSVR()), amounts},
	} {
		fitted, err := c.p.Fit(context.Background(), c.data)
		if err != nil {
			t.Fatal(name, err)
		}
		m, err := modelfile.New(fitted)
		if err != nil {
			t.Fatal(err)
		}
		seen, err := profile.Of(context.Background(), c.data.Source())
		if err != nil {
			t.Fatal(name, err)
		}
		m.Profile = &seen
		var b bytes.Buffer
		if err := m.Write(&b); err != nil {
			t.Fatal(name, err)
		}
		files[name] = b.Bytes()
	}
	return files
}

// unpack returns the files in a model file.
func unpack(t testing.TB, file []byte) map[string][]byte {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err == nil {
			parts[f.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

// seal returns a model file with the given entries and valid checksums.
func seal(t testing.TB, parts map[string][]byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(parts[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	const comment = "sha256:"
	binary.LittleEndian.PutUint16(file[len(file)-2:], uint16(len(comment)+2*sha256.Size))
	sum := sha256.Sum256(file)
	return append(file, comment+hex.EncodeToString(sum[:])...)
}

// chooser derives choices from a script, one byte for each, and zeros after its end.
type chooser struct{ script []byte }

func (c *chooser) of(n int) int {
	if len(c.script) == 0 || n < 1 {
		return 0
	}
	b := int(c.script[0])
	c.script = c.script[1:]
	if n > 256 && len(c.script) > 0 {
		b = b<<8 | int(c.script[0])
		c.script = c.script[1:]
	}
	return b % n
}

// forge makes one to four changes in the entries of a model, with valid checksums.
func forge(t testing.TB, file []byte, c *chooser) []byte {
	parts := unpack(t, file)
	var index map[string]any
	if err := json.Unmarshal(parts["model.json"], &index); err != nil {
		t.Fatal(err)
	}
	for range 1 + c.of(4) {
		arrays := index["arrays"].([]any)
		if k := c.of(2 + 2*len(arrays)); k >= 2+len(arrays) {
			e := arrays[k-2-len(arrays)].(map[string]any)
			forgeArray(parts, e, c)
		} else {
			forgeIndex(index, c)
		}
		if _, still := index["arrays"].([]any); !still {
			break
		}
		if slices.ContainsFunc(index["arrays"].([]any), func(e any) bool { return !isEntry(e) }) {
			break
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	parts["model.json"] = text
	return seal(t, parts)
}

func isEntry(e any) bool {
	m, ok := e.(map[string]any)
	if !ok {
		return false
	}
	_, named := m["name"].(string)
	shape, shaped := m["shape"].([]any)
	_, typed := m["type"].(string)
	return named && shaped && typed && !slices.ContainsFunc(shape, func(v any) bool { _, ok := v.(float64); return !ok })
}

// forgeIndex changes a value anywhere in model.json, most often one of the state.
func forgeIndex(index map[string]any, c *chooser) {
	places := placesOf(index, "")
	if state, ok := index["state"].(map[string]any); ok && c.of(4) > 0 {
		places = placesOf(state, "")
	}
	if len(places) == 0 {
		return
	}
	p := places[c.of(len(places))]
	switch c.of(12) {
	case 0:
		p.remove()
		return
	case 1:
		var other any // a copy, for a value within itself has no end
		text, _ := json.Marshal(places[c.of(len(places))].get())
		json.Unmarshal(text, &other)
		p.set(other)
		return
	case 2:
		p.set([]any{true, nil, []any{}, map[string]any{}, []any{[]any{[]any{}}}, []any{nil, 1.0}}[c.of(6)])
		return
	}
	switch v := p.get().(type) {
	case float64:
		p.set([]float64{0, 1, -1, 2, v + 1, v - 1, 2 * v, 0.5, 7, 1000, 1 << 20, 1 << 31, 1<<32 - 1, 1 << 32, 1e12, 1 << 53,
			1e300, -1e300}[c.of(18)])
	case bool:
		p.set(!v)
	case string:
		words := []string{"", "a/b", "phase", "paired", "custom", "gaussian", "laplacian", "smooth", "float32", "numeric",
			"categorical", "missing", "- ridge\n", v + v}
		for _, e := range pipeline.Registered() {
			words = append(words, e.Name)
		}
		p.set(words[c.of(len(words))])
	case []any:
		list := slices.Clone(v)
		switch c.of(4) {
		case 0:
			list = slices.Repeat(list, 2)
		case 1:
			list = list[:c.of(len(list)+1)]
		case 2:
			list = append(list, "more")
		default:
			slices.Reverse(list)
		}
		p.set(list)
	}
}

// place is the location of a value in a document.
type place struct {
	get    func() any
	set    func(v any)
	remove func()
}

func placesOf(v any, path string) (out []place) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, place{func() any { return v[key] }, func(x any) { v[key] = x }, func() { delete(v, key) }})
			out = append(out, placesOf(v[key], path+"/"+key)...)
		}
	case []any:
		for i := range v {
			out = append(out, place{func() any { return v[i] }, func(x any) { v[i] = x }, func() { v[i] = nil }})
			out = append(out, placesOf(v[i], path+"/"+strconv.Itoa(i))...)
		}
	}
	return out
}

var npyShape = regexp.MustCompile(`'shape': \([^)]*\)`)

// forgeArray changes the numbers or the shape of an array, in the file and in its entry of the index.
func forgeArray(parts map[string][]byte, e map[string]any, c *chooser) {
	name := fmt.Sprint(e["name"]) + ".npy"
	file := slices.Clone(parts[name])
	if len(file) < 10 {
		return
	}
	head := min(len(file), 10+int(binary.LittleEndian.Uint16(file[8:])))
	data := file[head:]
	item := 8
	if e["type"] == "<u4" {
		item = 4
	}
	n := len(data) / item
	shape := e["shape"].([]any)
	switch c.of(8) {
	case 0: // a shape that the numbers have not
		shape = slices.Clone(shape)
		if len(shape) > 0 {
			shape[c.of(len(shape))] = []float64{0, 1, -1, 1 << 31, 1e12, 1 << 62, float64(n) + 1}[c.of(7)]
		}
		e["shape"] = shape
		if c.of(2) == 0 {
			return // the file contradicts itself
		}
	case 1: // fewer, or more, numbers
		if len(shape) == 1 {
			n = []int{0, 1, n - 1, n + 1, 2 * n, n / 2}[c.of(6)]
		} else if len(shape) == 2 && n > 0 {
			cols := int(shape[1].(float64))
			n = max(0, n+[]int{-cols, cols}[c.of(2)])
		}
		n = max(n, 0)
		data = append(slices.Clone(data), make([]byte, max(0, n*item-len(data)))...)[:n*item]
		if len(shape) == 2 && shape[1].(float64) > 0 {
			e["shape"] = []any{float64(n) / shape[1].(float64), shape[1]}
		} else {
			e["shape"] = []any{float64(n)}
		}
	case 2: // permuted
		shape = slices.Clone(shape)
		slices.Reverse(shape)
		e["shape"] = shape
	default:
		for range 1 + c.of(3) {
			forgeNumber(data, item, c)
		}
	}
	var sizes []string
	for _, v := range e["shape"].([]any) {
		sizes = append(sizes, strconv.FormatFloat(v.(float64), 'f', -1, 64))
	}
	text := "'shape': (" + strings.Join(sizes, ", ")
	if len(sizes) == 1 {
		text += ","
	}
	header := npyShape.ReplaceAllString(strings.TrimRight(string(file[10:head]), " \n"), text+")")
	pad := (10+len(header)+1+63)/64*64 - 10 - len(header) - 1
	out := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)+pad+1))
	parts[name] = append(append(out, header+strings.Repeat(" ", pad)+"\n"...), data...)
}

func forgeNumber(data []byte, item int, c *chooser) {
	if len(data) < item {
		return
	}
	at := data[c.of(len(data)/item)*item:]
	if item == 4 {
		binary.LittleEndian.PutUint32(at, []uint32{0, 1, 2, math.MaxUint32, 1 << 31}[c.of(5)])
		return
	}
	floats := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1, 0.5, 1e300, -1e300, 1e-300, math.MaxFloat64,
		1 << 40, 5e-324}
	ints := []uint64{0, 1, math.MaxUint64, 2, 1 << 31, 1 << 40, math.MaxInt64, 1 << 63}
	if k := c.of(len(floats) + len(ints)); k < len(floats) {
		binary.LittleEndian.PutUint64(at, math.Float64bits(floats[k]))
	} else {
		binary.LittleEndian.PutUint64(at, ints[k-len(floats)])
	}
}

// allocated returns the total number of bytes allocated by the process.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// maxFor bounds the memory of reading a file of the given size and predicting a few rows. The
// constant covers widths that a file may claim without containing as many numbers.
func maxFor(size int) uint64 { return 300<<20 + 200*uint64(size) }

// readSealed reads arbitrary bytes as a model file and uses the model. A model that loads can be
// displayed, saved and read again, and predicts finite numbers or returns an error.
func readSealed(t testing.TB, file []byte, dir string) (loaded bool) {
	t.Helper()
	before := allocated()
	defer func() {
		if took := allocated() - before; took > maxFor(len(file)) {
			t.Errorf("%d bytes were taken for a file of %d", took, len(file))
		}
	}()
	path := filepath.Join(dir, "model")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := modelfile.Load(path)
	if err != nil {
		return false
	}
	if _, err := Inspect(path); err != nil && m.Reading == "" {
		t.Errorf("a model that loads cannot be inspected: %v", err)
	}
	m.HTML()
	m.Spec().SVG()
	var again bytes.Buffer
	if err := m.Write(&again); err != nil {
		t.Errorf("a model that loads cannot be saved: %v", err)
	} else if _, err := modelfile.Read(bytes.NewReader(again.Bytes()), int64(again.Len())); err != nil {
		t.Errorf("what was saved again cannot be read: %v", err)
	}
	all, numbers := people(5)
	for _, data := range []datasets.Set{all, numbers, {X: numbers.X}, {X: matrices.CSRFromDense(numbers.X)},
		{X: mat.NewDense(1, 3, nil)}} {
		if aligned, err := m.Align(data); err == nil {
			predictsFinite(t, m.Predictor, aligned.X)
		}
		predictsFinite(t, m.Predictor, data.X)
	}
	Predict(context.Background(), path, filepath.Join(dir, "rows.csv"), io.Discard, Options{})
	Evaluate(context.Background(), path, filepath.Join(dir, "rows.csv"), Options{})
	return true
}

func predictsFinite(t testing.TB, p estimator.Predictor, X mat.Matrix) {
	t.Helper()
	got, err := estimator.Predict(context.Background(), p, X, estimator.Request{})
	if err != nil {
		return
	}
	n, _ := X.Dims()
	lists := [][]float64{got.Values}
	for _, m := range []*mat.Dense{got.Targets, got.Scores, got.Probabilities} {
		if m == nil {
			continue
		}
		if rows, _ := m.Dims(); rows != n {
			t.Errorf("%d rows of predictions for %d", rows, n)
		}
		lists = append(lists, m.RawMatrix().Data)
	}
	if len(got.Values) != n {
		t.Errorf("%d predictions for %d rows", len(got.Values), n)
	}
	for _, list := range lists {
		if slices.ContainsFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			t.Error("a prediction is not finite, without an error")
		}
	}
}

// sealedDir returns a directory with rows to predict.
func sealedDir(t testing.TB) string {
	dir := t.TempDir()
	rows := "age,colour,gain,size,rich\n0.5,blue,1.5,S,no\n-1,red,,M,yes\n2,mauve,0.1,S,no\n"
	if err := os.WriteFile(filepath.Join(dir, "rows.csv"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSealedModels checks that the models to be forged contain every step, and can be loaded.
func TestSealedModels(t *testing.T) {
	dir, specs := sealedDir(t), ""
	for name, file := range sealedModels(t) {
		if !readSealed(t, file, dir) || !bytes.Equal(seal(t, unpack(t, file))[:4], file[:4]) {
			t.Errorf("%s does not load", name)
		}
		if !readSealed(t, seal(t, unpack(t, file)), dir) {
			t.Errorf("%s does not load when it is sealed again", name)
		}
		got, err := Inspect(filepath.Join(dir, "model"))
		if err != nil {
			t.Fatal(err)
		}
		specs += got.Spec
	}
	for _, e := range pipeline.Registered() {
		if path.Base(reflect.TypeOf(e.New()).PkgPath()) == "experiment" {
			continue // of another test
		}
		if !regexp.MustCompile(`\b` + e.Name + `\b`).MatchString(specs) {
			t.Errorf("no model has the step %s", e.Name)
		}
	}
}

// TestForgedModels checks that a forged file with valid checksums is rejected or predicts finite
// numbers, in memory bounded by its size. It tests some hundreds of forgeries, always the same.
func TestForgedModels(t *testing.T) {
	if !exhaustive.Tests() {
		t.Skip("hundreds of files")
	}
	dir, files := sealedDir(t), sealedModels(t)
	rng := rand.New(rand.NewPCG(10, 3))
	loaded := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for range 100 {
			script := make([]byte, 24)
			for i := range script {
				script[i] = byte(rng.Uint32())
			}
			if readSealed(t, forge(t, files[name], &chooser{script}), dir) {
				loaded++
			}
			if t.Failed() {
				t.Fatalf("%s, script %v", name, script)
			}
		}
	}
	if loaded == 0 {
		t.Error("every lie was found out: the forger is too crude to find what passes")
	}
}

// FuzzForgedModels looks for lies that get through. Run it under a limit of memory, for example
//
//	ulimit -v 8000000; GOMEMLIMIT=1GiB go test -run '^$' -fuzz FuzzForgedModels -fuzztime 5m ./experiment/
func FuzzForgedModels(f *testing.F) {
	files := sealedModels(f)
	names := slices.Sorted(maps.Keys(files))
	rng := rand.New(rand.NewPCG(11, 4))
	for k := range names {
		for range 8 {
			script := make([]byte, 12)
			for i := range script {
				script[i] = byte(rng.Uint32())
			}
			f.Add(uint8(k), script)
		}
	}
	dir := sealedDir(f)
	f.Fuzz(func(t *testing.T, which uint8, script []byte) {
		readSealed(t, forge(t, files[names[int(which)%len(names)]], &chooser{script}), dir)
	})
}
