package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Term is the kernel of some columns of a table, a factor of a [Product]. Use [NewTerm].
type Term struct {
	// Columns are names of columns before or after they were encoded, or of the group of columns or part of a
	// union that encoded them; or the single name numeric, categorical, text (the columns of that kind that no
	// other term of the product names) or rest (the columns that no term names).
	Columns []string
	Kernel  Name // any but a kernel of columns
	// Gamma is γ of the term. A rule is applied to the columns of the term, and the result is divided by
	// the number of terms of the product.
	Gamma    Gamma
	Nu       float64 // ν of the matern kernel
	Shape    float64 // a of the rational_quadratic kernel
	Exponent float64 // p of the powered_exponential kernel
	Index    []int   // numbers of the columns, which replace Columns; kernels of fitted models have them
}

// NewTerm returns a term with γ by [GammaScale] for the named columns.
func NewTerm(name Name, columns ...string) Term {
	return Term{Columns: columns, Kernel: name, Gamma: GammaScale(), Nu: 1.5, Shape: 1, Exponent: 1}
}

// Summand is a product of terms with a weight in a [Sum].
type Summand struct {
	Weight  float64
	Product []Term
}

// Product returns the kernel of a table that is the product of the kernels of groups of columns,
//
//	k(x, y) = Π_t k_t(x_t, y_t)
//
// Every column belongs to one term. In YAML it is a value of the parameter kernel of a step:
//
//	kernel: {product: [{columns: title, kernel: gaussian, gamma: 0.3}, {columns: rest, kernel: laplacian}]}
//
// The Name contains the terms, so that equal kernels are equal values.
func Product(terms ...Term) Name { return nameOf([]Summand{{1, terms}}) }

// Sum returns the kernel Σ_s w_s·Π_t k_t(x_t, y_t) with the weights divided by their sum: main effects
// and interactions of groups of columns. Every column belongs to a term of at least one product.
//
// Source: Duvenaud, Nickisch and Rasmussen, "Additive Gaussian processes", NIPS 2011.
func Sum(summands ...Summand) Name { return nameOf(summands) }

// Summands returns the products of a kernel of columns, nil for other kernels. A [Product] has one.
func (n Name) Summands() []Summand {
	if !strings.HasPrefix(string(n), "{") {
		return nil
	}
	var plain any
	if json.Unmarshal([]byte(n), &plain) != nil {
		return nil
	}
	list, err := parse(plain)
	if err != nil {
		return nil
	}
	return list
}

// tokens of the text of a kernel of columns: quoted strings and separators.
var tokens = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[,:]`)

// plainString matches strings that YAML writes without quotes.
var plainString = regexp.MustCompile(`^"[A-Za-z_][\w.-]*"$`)

// String returns the name, or a kernel of columns in the flow style of YAML.
func (n Name) String() string {
	if !strings.HasPrefix(string(n), "{") {
		return string(n)
	}
	return tokens.ReplaceAllStringFunc(string(n), func(token string) string {
		switch {
		case token == "," || token == ":":
			return token + " "
		case plainString.MatchString(token):
			return token[1 : len(token)-1]
		}
		return token
	})
}

// nameOf returns the canonical text of a kernel of columns.
func nameOf(list []Summand) Name {
	var plain any
	if len(list) == 1 {
		plain = map[string]any{"product": plainTerms(list[0].Product)}
	} else {
		summands := make([]any, len(list))
		for i, s := range list {
			summands[i] = map[string]any{"weight": s.Weight, "product": plainTerms(s.Product)}
		}
		plain = map[string]any{"sum": summands}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(plain) != nil {
		return "{}" // of numbers that are not finite, which no check accepts
	}
	return Name(strings.TrimSuffix(out.String(), "\n"))
}

func plainTerms(terms []Term) []any {
	out := make([]any, len(terms))
	for i, t := range terms {
		plain := map[string]any{"kernel": string(t.Kernel), "gamma": t.Gamma.Get()}
		switch t.Kernel {
		case Matern:
			plain["nu"] = t.Nu
		case RationalQuadratic:
			plain["shape"] = t.Shape
		case PoweredExponential:
			plain["exponent"] = t.Exponent
		}
		switch {
		case t.Index != nil:
			plain["index"] = formatIndex(t.Index)
		case len(t.Columns) == 1:
			plain["columns"] = t.Columns[0]
		default:
			list := make([]any, len(t.Columns))
			for j, c := range t.Columns {
				list[j] = c
			}
			plain["columns"] = list
		}
		out[i] = plain
	}
	return out
}

// formatIndex writes ascending numbers as ranges: 0-3,7.
func formatIndex(index []int) string {
	var out []string
	for i := 0; i < len(index); {
		j := i
		for j+1 < len(index) && index[j+1] == index[j]+1 {
			j++
		}
		text := strconv.Itoa(index[i])
		if j > i {
			text += "-" + strconv.Itoa(index[j])
		}
		out, i = append(out, text), j+1
	}
	return strings.Join(out, ",")
}

// maxIndex bounds the columns of a term that a model file can claim.
const maxIndex = 1 << 26

func parseIndex(text string) ([]int, error) {
	out := []int{}
	if text == "" {
		return out, nil
	}
	for _, part := range strings.Split(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && ranged {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < 0 || hi < lo || hi >= maxIndex || len(out) > maxIndex {
			return nil, fmt.Errorf("index must be numbers and ranges of columns, as 0-3,7, got %q", text)
		}
		for v := lo; v <= hi; v++ {
			out = append(out, v)
		}
	}
	return out, nil
}

// parse reads a kernel of columns from its plain form.
func parse(plain any) ([]Summand, error) {
	named, ok := plain.(map[string]any)
	if !ok || len(named) != 1 {
		return nil, errors.New("must have one key, product or sum")
	}
	if terms, ok := named["product"]; ok {
		product, err := parseProduct(terms)
		return []Summand{{1, product}}, err
	}
	list, ok := named["sum"].([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("must be {product: [TERM, …]} or {sum: [{weight: w, product: [TERM, …]}, …]}")
	}
	var out []Summand
	for i, element := range list {
		s, err := parseSummand(element)
		if err != nil {
			return nil, fmt.Errorf("summand %d: %w", i+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func parseSummand(plain any) (Summand, error) {
	out := Summand{Weight: 1}
	named, ok := plain.(map[string]any)
	if !ok {
		return out, fmt.Errorf("must be {weight: w, product: [TERM, …]}, got %v", plain)
	}
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if err := checkKey(key, "weight", "product"); err != nil {
			return out, err
		}
	}
	if w, given := named["weight"]; given {
		if out.Weight, ok = number(w); !ok || !param.Positive().Contains(out.Weight) {
			return out, fmt.Errorf("weight must be a number > 0, got %v", w)
		}
	}
	var err error
	out.Product, err = parseProduct(named["product"])
	return out, err
}

func parseProduct(plain any) ([]Term, error) {
	list, ok := plain.([]any)
	if !ok || len(list) == 0 {
		return nil, errors.New("product must be a list of terms, as {columns: [age, hours], kernel: laplacian, gamma: 0.5}")
	}
	seen := map[string]int{}
	var out []Term
	for i, element := range list {
		t, err := parseTerm(element)
		if err != nil {
			return nil, fmt.Errorf("term %d: %w", i+1, err)
		}
		for _, c := range t.Columns {
			if first := seen[c]; first > 0 {
				return nil, fmt.Errorf("term %d: column %q is also in term %d; a product has each column once", i+1, c, first)
			}
			seen[c] = i + 1
		}
		out = append(out, t)
	}
	return out, nil
}

// termKeys lists the keys of a term.
var termKeys = []string{"columns", "kernel", "gamma", "nu", "shape", "exponent", "index"}

func parseTerm(plain any) (Term, error) {
	out := NewTerm(Gaussian)
	named, ok := plain.(map[string]any)
	if !ok {
		return out, fmt.Errorf("must be as {columns: [age, hours], kernel: laplacian, gamma: 0.5}, got %v", plain)
	}
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if err := checkKey(key, termKeys...); err != nil {
			return out, err
		}
		if err := out.set(key, named[key]); err != nil {
			return out, err
		}
	}
	if len(out.Columns) == 0 && out.Index == nil {
		return out, errors.New("columns must be a name, a list of names, numeric, categorical, text or rest")
	}
	return out, nil
}

func (t *Term) set(key string, plain any) error {
	switch key {
	case "columns":
		return t.setColumns(plain)
	case "index":
		text, ok := plain.(string)
		if !ok {
			return fmt.Errorf("index must be a string, got %v", plain)
		}
		var err error
		t.Index, err = parseIndex(text)
		return err
	case "kernel":
		text, ok := plain.(string)
		if !ok || text == "" || strings.HasPrefix(text, "{") {
			return fmt.Errorf("kernel must be the name of a kernel, got %v", plain)
		}
		t.Kernel = Name(text)
		return nil
	case "gamma":
		if err := t.Gamma.Set(plain); err != nil {
			return fmt.Errorf("gamma must be %s, got %v", t.Gamma.Constraint(), plain)
		}
		return nil
	}
	v, ok := number(plain)
	if !ok || !param.Positive().Contains(v) || key == "exponent" && v > 2 {
		limit := ""
		if key == "exponent" {
			limit = " and ≤ 2"
		}
		return fmt.Errorf("%s must be a number > 0%s, got %v", key, limit, plain)
	}
	*map[string]*float64{"nu": &t.Nu, "shape": &t.Shape, "exponent": &t.Exponent}[key] = v
	return nil
}

func (t *Term) setColumns(plain any) error {
	t.Columns = nil
	switch v := plain.(type) {
	case string:
		t.Columns = []string{v}
	case []any:
		for _, e := range v {
			name, ok := e.(string)
			if !ok {
				return fmt.Errorf("columns must be names, got %v", e)
			}
			t.Columns = append(t.Columns, name)
		}
	}
	if len(t.Columns) == 0 || slices.Contains(t.Columns, "") {
		return fmt.Errorf("columns must be a name, a list of names, numeric, categorical, text or rest, got %v", plain)
	}
	return nil
}

func checkKey(key string, keys ...string) error {
	if slices.Contains(keys, key) {
		return nil
	}
	if near := suggest.Nearest(key, keys); near != "" {
		return fmt.Errorf("no key %q; did you mean %s?", key, near)
	}
	return fmt.Errorf("no key %q; there are %s", key, suggest.Alternatives(keys))
}

func number(plain any) (float64, bool) {
	switch v := plain.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Declare declares the parameter kernel: one of names, or a kernel of columns whose terms have one of
// these names for which [Name.IsTerm] is true, if there are any.
func (n *Name) Declare(l *param.List, doc string, names ...string) {
	terms := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !Name(name).IsTerm() })
	if len(terms) == 0 {
		l.Choice((*string)(n), "kernel", doc, withRegistered(names)...)
		return
	}
	other := columnsValue{n, terms, slices.Contains(names, string(Precomputed))}
	l.ChoiceOr((*string)(n), other, "kernel", doc, withRegistered(names)...)
}

// Columns returns the name as a parameter that is set from the plain form of a kernel of columns, whose
// terms have one of the kernels.
func (n *Name) Columns(terms ...string) param.Value { return columnsValue{n, terms, false} }

// IsTerm reports whether a term of a kernel of columns can have the kernel: it is a function of the
// differences of its inputs.
func (n Name) IsTerm() bool {
	return !slices.Contains([]Name{Polynomial, Cosine, Chi2, Sigmoid, Linear, Custom, Precomputed}, n) &&
		n.Func() == nil && n.Summands() == nil
}

// columnsValue adapts a kernel of columns to a parameter.
type columnsValue struct {
	name  *Name
	terms []string // names of kernels that a term may have
	exact bool     // whether the step takes kernels of the program
}

func (v columnsValue) Set(plain any) error {
	if name, ok := plain.(string); ok {
		return param.FieldError{Constraint: v.Constraint(), Hint: v.hint(name)}
	}
	list, err := parse(plain)
	if err != nil {
		return param.FieldError{Constraint: v.Constraint(), Hint: err.Error()}
	}
	*v.name = nameOf(list)
	return v.Check()
}

func (v columnsValue) Get() any {
	var plain any
	if json.Unmarshal([]byte(*v.name), &plain) != nil {
		return string(*v.name)
	}
	return plain
}

func (v columnsValue) Constraint() string {
	return "a kernel of columns, as {product: [{columns: rest, kernel: gaussian}]}"
}

func (v columnsValue) Check() error {
	var plain any
	err := json.Unmarshal([]byte(*v.name), &plain)
	var list []Summand
	if err == nil {
		list, err = parse(plain)
	}
	for _, s := range list {
		for i, t := range s.Product {
			if err == nil && !slices.Contains(v.terms, string(t.Kernel)) {
				return param.FieldError{Problem: fmt.Sprintf("term %d of a product must have kernel %s, got %q", i+1,
					suggest.Alternatives(v.terms), t.Kernel)}
			}
		}
	}
	if err != nil {
		return param.FieldError{Constraint: v.Constraint(), Hint: err.Error()}
	}
	return nil
}
