// Package golearn carries rows between this module and golearn (github.com/sjwhitworth/golearn).
//
//	data, err := golearn.FromGrid(grid)          // a FixedDataGrid, views and filtered ones too
//	instances, err := golearn.ToInstances(data)  // an UpdatableDataGrid
//
// The package of the same name at the top of the module makes models golearn's classifiers, and
// golearn's filters steps.
//
// Attributes and columns are matched by name, levels and classes by name too, never by order.
//
//	golearn attribute      column                          as the class attribute
//	FloatAttribute         numeric                         a numeric target
//	CategoricalAttribute   categorical, with its values    classes
//	BinaryAttribute        numeric, 0 or 1                 the classes "0" and "1"
//
// Several class attributes are several targets: numbers, a binary attribute's 0 and 1 among them, and
// the codes of categorical ones, whose values the schema keeps. A set holds them; a model predicts
// either one class or numbers.
//
// golearn cannot express a missing value: its CSV reader makes an empty cell 0 or the first
// category, before this package sees it. Rows with missing values or unknown levels, weights or
// groups are refused on their way to golearn. A NaN that a FloatAttribute holds is a missing value
// on its way back.
//
// golearn says much by panicking. Where this package calls it, a panic comes back as an error, by [guard].
package golearn

import (
	"fmt"

	"github.com/sjwhitworth/golearn/base"

	"github.com/bochner-ml/bochner/datasets"
)

// guard runs work, which calls golearn, and returns golearn's panic as an error.
func guard(doing string, work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("golearn: %s: golearn panicked: %v", doing, r)
		}
	}()
	return work()
}

// kind is what the bytes of an attribute are.
type kind int

const (
	float    kind = iota // eight bytes, a float64
	category             // eight bytes, the number of a value
	bit                  // one byte, 0 or 1; a bit where rows are stored
)

func kindOf(a base.Attribute) (kind, error) {
	switch a.(type) {
	case *base.FloatAttribute:
		return float, nil
	case *base.CategoricalAttribute:
		return category, nil
	case *base.BinaryAttribute:
		return bit, nil
	}
	return 0, fmt.Errorf("golearn: an attribute is a %T, wanted a float, categorical or binary attribute", a)
}

// columnOf returns the column that an input attribute is.
func columnOf(a base.Attribute) datasets.Column {
	c := datasets.Column{Name: a.GetName()}
	if values, ok := a.(*base.CategoricalAttribute); ok {
		c.Kind, c.Categories = datasets.Categorical, append([]string{}, values.GetValues()...)
	}
	return c
}

// classColumnOf returns the target that a class attribute is.
func classColumnOf(a base.Attribute, only bool) datasets.Column {
	c := columnOf(a)
	if _, ok := a.(*base.BinaryAttribute); ok && only {
		c.Kind, c.Categories = datasets.Categorical, []string{"0", "1"}
	}
	return c
}
