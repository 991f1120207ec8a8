// Package reader reads tables from files: it infers the format from the file name and the first
// lines, and opens the rows with the package of that format.
//
//	set, err := reader.Read(ctx, "adult.csv", "income")
//
//	files := reader.NewFiles()
//	files.Target = reader.Strings{"income"}
//	source, err := files.Open(ctx, []string{"part-*.parquet"}, files.Roles(nil))
//
// To read Parquet and Arrow files, a program must import datasets/parquet or datasets/arrow.
//
// [Files.OpenMatching] opens rows with the columns and codes of other rows. Inputs that can be read
// only once, such as standard input, are stored in memory or in a temporary file by [Files.Spool],
// or read in one pass by a [Stream].
package reader

import (
	"context"
	"io/fs"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
)

// Files describes the format of files and the roles of their columns. Use [NewFiles]; the zero
// value is not valid.
type Files struct {
	Format   string // one of [Formats], or auto to detect it by name and first lines
	CSV      CSV
	SVMLight SVMLight

	Target   Strings // columns to predict; none for the last one
	Labels   Labels
	Positive Strings // values of the target that are the class of interest
	Suffix   string  // suffix of the target values to remove
	Task     string  // a [datasets.Task], or auto to infer it from the target
	Weight   string
	Group    string
	Drop     []string
	Kinds    Kinds
	Dates    Dates

	MissingTarget string // error or drop

	FS        fs.FS   // where the files are; nil is the machine's own file system
	Queries   Queries // answers queries, which take the place of paths; nil for files
	KeepBytes int64   // bytes of rows that may be kept in memory when their columns are learned
}

// Queries opens the concatenated rows of queries.
type Queries interface {
	Open(ctx context.Context, roles datasets.Roles, queries ...string) (datasets.Source, error)
}

// NewFiles returns the options for files of any format, with the last column as the target.
func NewFiles() Files {
	return Files{Format: "auto", CSV: newCSV(), Task: "auto", MissingTarget: "error"}
}

// CSV describes a CSV or TSV file.
type CSV struct {
	Header    Header
	Columns   []string
	Missing   Strings
	Comment   string
	Delimiter string
	Quote     string
	Skip      int
	Encoding  string
	Decimal   string
	Thousands string
}

// Params declares the keys of the section.
func (s *CSV) Params(l *param.List) {
	l.Value(&s.Header, "header", "Whether the first row has the column names. auto: true, unless `columns` is set.")
	l.Names(&s.Columns, "columns", "Column names, instead of the header.")
	l.Value(&s.Missing, "missing", "Strings that denote a missing value, in addition to the empty string.")
	l.String(&s.Comment, "comment", "Prefix of lines to ignore.")
	l.String(&s.Delimiter, "delimiter",
		"Delimiter of fields: one character, tab, or space for runs of spaces. Default: comma, or tab for .tsv.")
	l.Choice(&s.Quote, "quote", "Quote character of fields; none: quotes are ordinary characters.", `"`, "none")
	l.Int(&s.Skip, "skip", "Number of lines to skip at the beginning.", param.AtLeast(0))
	l.Choice(&s.Encoding, "encoding", "Encoding of the file.", "utf-8", "latin-1", "windows-1252", "utf-16")
	l.Choice(&s.Decimal, "decimal", "Decimal mark of numbers.", ".", ",")
	l.Choice(&s.Thousands, "thousands", "Separator of groups of three digits.", "none", ",", ".", "'",
		"space")
}

// Labels describes a target column of label lists.
type Labels struct{ Delimiter string }

// Params declares the keys of the section.
func (s *Labels) Params(l *param.List) {
	l.String(&s.Delimiter, "delimiter", "Delimiter of the labels in the target, such as ; in red;round. It implies "+
		"task: multilabel.")
}

// newCSV returns a section with the defaults.
func newCSV() CSV {
	return CSV{Header: Header{Auto: true}, Quote: `"`, Encoding: "utf-8", Decimal: ".", Thousands: "none"}
}

// IsDefault reports whether all options have their defaults.
func (s CSV) IsDefault() bool {
	return s.Header.Auto && len(s.Columns) == 0 && len(s.Missing) == 0 && s.Comment == "" && s.Delimiter == "" &&
		s.Quote == `"` && s.Skip == 0 &&
		s.Encoding == "utf-8" && s.Decimal == "." && s.Thousands == "none"
}

// SVMLight describes an svmlight file.
type SVMLight struct {
	Features  int
	ZeroBased bool
}

// Params declares the keys of the section.
func (s *SVMLight) Params(l *param.List) {
	l.Int(&s.Features, "features", "Number of inputs; 0 for the largest index in the training file.", param.AtLeast(0))
	l.Bool(&s.ZeroBased, "zero_based", "Whether the first index is 0 and not 1.")
}
