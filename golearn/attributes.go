package golearn

import (
	"fmt"

	"github.com/sjwhitworth/golearn/base"

	"github.com/bochner-ml/bochner/datasets"
)

// recoverAs runs work, which calls golearn, and converts a panic of golearn to an error.
func recoverAs(doing string, work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("golearn: %s: golearn panicked: %v", doing, r)
		}
	}()
	return work()
}

// kind is the representation of the values of an attribute.
type kind int

const (
	float    kind = iota // eight bytes, a float64
	category             // eight bytes, the code of a value
	bit                  // one byte, 0 or 1; stored as a bit
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
	return 0, fmt.Errorf("golearn: attribute must be a float, categorical or binary attribute, got a %T", a)
}

// columnOf returns the column of an input attribute.
func columnOf(a base.Attribute) datasets.Column {
	c := datasets.Column{Name: a.GetName()}
	if values, ok := a.(*base.CategoricalAttribute); ok {
		c.Kind, c.Categories = datasets.Categorical, append([]string{}, values.GetValues()...)
	}
	return c
}

// classColumnOf returns the target column of a class attribute; only reports that it is the only
// one.
func classColumnOf(a base.Attribute, only bool) datasets.Column {
	c := columnOf(a)
	if _, ok := a.(*base.BinaryAttribute); ok && only {
		c.Kind, c.Categories = datasets.Categorical, []string{"0", "1"}
	}
	return c
}
