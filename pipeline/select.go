package pipeline

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// selection adapts the terms of a [Group] to the parameter select: one term, or a list.
type selection struct{ terms *[]string }

// Constraint describes a valid term.
func (s *selection) Constraint() string {
	return "a name, kind or pattern of columns, or a list of them"
}

// Set accepts a string or a list of strings.
func (s *selection) Set(plain any) error {
	list, isList := plain.([]any)
	if !isList {
		list = []any{plain}
	}
	terms := make([]string, len(list))
	for i, v := range list {
		term, ok := v.(string)
		if !ok || term == "" {
			return errors.New(s.Constraint())
		}
		terms[i] = term
	}
	*s.terms = terms
	return s.Check()
}

// Get returns the term, or a list unless there is exactly one.
func (s *selection) Get() any {
	if len(*s.terms) == 1 {
		return (*s.terms)[0]
	}
	list := make([]any, len(*s.terms))
	for i, term := range *s.terms {
		list[i] = term
	}
	return list
}

// Check returns an error for an empty selection and for the first invalid pattern.
func (s *selection) Check() error {
	if len(*s.terms) == 0 {
		return errors.New("at least one name, kind or pattern of columns")
	}
	for _, term := range *s.terms {
		if _, err := selector(term); err != nil {
			return param.FieldError{Problem: err.Error()}
		}
	}
	return nil
}

// unselected returns the indices j for which selected[j] is false.
func unselected(selected []bool) []int {
	var rest []int
	for j, t := range selected {
		if !t {
			rest = append(rest, j)
		}
	}
	return rest
}

// matching returns the indices of the columns that term selects.
func matching(term string, schema datasets.Schema, cols int) ([]int, error) {
	accept, err := selector(term)
	if err != nil {
		return nil, err
	}
	var matches []int
	for j := range cols {
		if schema.Name(j) == term {
			return []int{j}, nil
		}
		if c := schema.Column(j); accept(schema.Name(j), c) {
			matches = append(matches, j)
		}
	}
	return matches, nil
}

// selector returns a function that reports whether a term that is not a column name selects a
// column.
func selector(term string) (accept func(name string, c datasets.Column) bool, err error) {
	switch {
	case !looksOpen(term):
		return func(string, datasets.Column) bool { return false }, nil
	case isKind(term):
		return func(_ string, c datasets.Column) bool { return isOfKind(c, term) }, nil
	case isRegexp(term):
		re, err := regexp.Compile(term[1 : len(term)-1])
		if err != nil {
			return nil, fmt.Errorf("select %s: %w", term, err)
		}
		return func(name string, _ datasets.Column) bool { return re.MatchString(name) }, nil
	}
	if _, err := path.Match(term, ""); err != nil {
		return nil, fmt.Errorf("select %s: %w", term, err)
	}
	return func(name string, _ datasets.Column) bool { ok, _ := path.Match(term, name); return ok }, nil
}

// isOfKind reports whether a column is selected as one of a kind. Names are categories and text; lists of labels are
// categories.
func isOfKind(c datasets.Column, kind string) bool {
	return kind == datasets.Categorical.String() && c.Format.HasCategories() ||
		kind == c.Kind.String() && c.Format.Delimiter == ""
}

// looksOpen reports whether a term that is not a column name may select several columns.
func looksOpen(term string) bool {
	return isKind(term) || isRegexp(term) || strings.ContainsAny(term, "*?[")
}

func isRegexp(term string) bool {
	return len(term) > 1 && strings.HasPrefix(term, "/") && strings.HasSuffix(term, "/")
}

// noColumn returns the error for a term that selects no column; it lists the available columns.
func noColumn(term string, schema datasets.Schema, cols int) error {
	const maxListed = 30
	names := make([]string, cols)
	for j := range names {
		names[j] = schema.Name(j)
	}
	list := strings.Join(names[:min(cols, maxListed)], ", ")
	if cols > maxListed {
		list += fmt.Sprintf(" and %d more", cols-maxListed)
	}
	if isKind(term) {
		return fmt.Errorf("no column is %s; the columns are %s", term, list)
	}
	hint := ""
	if near := suggest.Nearest(term, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fmt.Errorf("no column matches %q%s; the columns are %s", term, hint, list)
}

func isKind(term string) bool {
	return term == datasets.Numeric.String() || term == datasets.Categorical.String() || term == datasets.Text.String()
}
