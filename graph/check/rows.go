package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// Kinds of training rows.
const (
	regression = "regression"
	amounts    = "amounts" // regression with positive targets
	targets    = "targets" // several targets
	labels     = "labels"  // several labels
	binary     = "binary"
	classes    = "classes" // three classes with numeric names
	clusters   = "clusters"
	anomalies  = "anomalies"
)

var (
	cities = []string{"", "north", "east", "south, far", "west \"end\""}[1:]
	types  = []string{"a", "b", "ü"}
)

// schema returns the schema of rows of a kind.
func schema(kind string) datasets.Schema {
	s := datasets.Schema{Missing: []string{"?"}, Columns: []datasets.Column{
		{Name: "age"}, {Name: "income"}, {Name: "floor size"},
		{Name: "city", Kind: datasets.Categorical, Categories: cities},
		{Name: "type", Kind: datasets.Categorical, Categories: types},
	}}
	switch kind {
	case regression, amounts:
		s.Targets = []datasets.Column{{Name: "y"}}
	case targets:
		s.Targets = []datasets.Column{{Name: "y"}, {Name: "z"}}
	case labels:
		for _, name := range []string{"y", "z"} {
			s.Targets = append(s.Targets, datasets.Column{Name: name, Kind: datasets.Categorical,
				Categories: []string{"0", "1"}})
		}
	case binary:
		s.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"no", "yes"}}}
	case classes:
		s.Targets = []datasets.Column{{Name: "y", Kind: datasets.Categorical, Categories: []string{"1", "2", "10"}}}
	}
	return s
}

// randomRows returns random rows of a kind, with missing values. Numbers are exact in float32.
func randomRows(kind string, n int) datasets.Set {
	r := rand.New(rand.NewPCG(uint64(n), 16))
	round := func(v float64) float64 { return math.Round(v*64) / 64 }
	set := datasets.Set{Schema: schema(kind), Y: make([]float64, n)}
	X, Z := mat.NewDense(n, 5, nil), mat.NewDense(n, 2, nil)
	for i := range n {
		age, income, size := round(20+60*r.Float64()), round(3000*r.ExpFloat64()), round(70+20*r.NormFloat64())
		city, kindOf := r.IntN(len(cities)), r.IntN(len(types))
		X.SetRow(i, []float64{age, income, size, float64(city), float64(kindOf)})
		y := math.Sin(age/10) + math.Log1p(income)/4 + 0.3*float64(city) - size/100 + 0.1*r.NormFloat64()
		Z.SetRow(i, []float64{y, math.Cos(size/9) + 0.5*float64(kindOf)})
		switch kind {
		case regression:
			set.Y[i] = y
		case amounts:
			set.Y[i] = math.Exp(y / 2)
		case binary:
			set.Y[i] = float64(min(max(int(y+0.5), 1), 2) - 1)
		case classes:
			set.Y[i] = float64(min(max(int(y+0.5), 0), 2))
		}
		if r.IntN(20) == 0 {
			X.Set(i, r.IntN(5), math.NaN())
		}
	}
	set.X = X
	switch kind {
	case targets:
		set.Y, set.Targets = nil, Z
	case labels:
		Z.Apply(func(_, _ int, v float64) float64 { return min(max(math.Round(v), 0), 1) }, Z)
		set.Y, set.Targets = nil, Z
	case clusters, anomalies:
		set.Y = nil
	}
	return set
}

// addUnseen replaces values by ones that do not occur in training: unknown strings, more missing
// values, extreme numbers.
func addUnseen(set datasets.Set) {
	X := set.X.(*mat.Dense)
	for i := range set.Rows() {
		switch i % 10 {
		case 1:
			X.Set(i, 3+i/10%2, datasets.Unknown)
		case 2:
			X.Set(i, i/10%5, math.NaN())
		case 3:
			X.Set(i, i/10%3, []float64{-3.25, 20000, 0}[i/30%3])
		}
	}
}

// columns returns the rows by column, in the form of JSON input.
func columns(set datasets.Set) []column {
	out := make([]column, len(set.Schema.Columns))
	for j, c := range set.Schema.Columns {
		out[j] = column{Name: c.Name, Strings: c.Kind == datasets.Categorical, Values: make([]any, set.Rows())}
		for i := range set.Rows() {
			v := set.X.At(i, j)
			switch {
			case out[j].Strings && math.IsNaN(v):
				out[j].Values[i] = []string{"", "?"}[i%2]
			case out[j].Strings && v == datasets.Unknown:
				out[j].Values[i] = "elsewhere"
			case out[j].Strings:
				out[j].Values[i] = c.Categories[int(v)]
			case !math.IsNaN(v):
				out[j].Values[i] = v
			}
		}
	}
	return out
}
