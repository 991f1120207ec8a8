package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// Format describes how the values of a column are written, beyond its kind. The zero value means plain values. At most
// one field is set.
type Format struct {
	// Unit is the unit of numbers such as "8 GB", of a numeric column. Every value must have it; "" is plain numbers.
	Unit string
	// Name is set for a text column of names, such as job titles: each string is also a category.
	Name bool
	// Delimiter separates labels such as "red|round", of a text column. A row has each category at most once.
	Delimiter string
}

// Kind returns the kind of a column of the format, which must not be the zero value.
func (f Format) Kind() Kind {
	if f.HasCategories() {
		return Text
	}
	return Numeric
}

// HasCategories reports whether strings are categories, or lists of categories.
func (f Format) HasCategories() bool { return f.Name || f.Delimiter != "" }

// String returns a description that [Format.Parse] parses: "number GB", "name" or "labels |"; "" for plain values.
func (f Format) String() string {
	switch {
	case f.Unit != "":
		return "number " + f.Unit
	case f.Name:
		return "name"
	case f.Delimiter != "":
		return "labels " + f.Delimiter
	}
	return ""
}

// Parse is the inverse of [Format.String].
func (Format) Parse(text string) (Format, error) {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "":
		return Format{}, nil
	case text == "name":
		return Format{Name: true}, nil
	case word == "number" && strings.TrimSpace(rest) != "":
		return Format{Unit: strings.TrimSpace(rest)}, nil
	case word == "labels" && rest != "":
		return Format{Delimiter: rest}, nil
	}
	return Format{}, fmt.Errorf("format must be name, number UNIT or labels DELIMITER, got %q", text)
}

// Labels returns the categories in a string, without repetitions: the string itself, or the labels in a list.
func (f Format) Labels(text string) []string {
	if f.Delimiter == "" {
		return []string{text}
	}
	var out []string
	for label := range strings.SplitSeq(text, f.Delimiter) {
		if label = strings.TrimSpace(label); label != "" && !slices.Contains(out, label) {
			out = append(out, label)
		}
	}
	return out
}

// Number returns the text of the number in a value with the unit, and false if the value has another unit or none. A
// currency symbol may precede the number.
func (f Format) Number(value string) (number string, ok bool) {
	value = strings.TrimSpace(value)
	if number, ok = strings.CutSuffix(value, f.Unit); !ok {
		number, ok = strings.CutPrefix(value, f.Unit)
	}
	return strings.TrimSpace(number), ok && f.Unit != ""
}
