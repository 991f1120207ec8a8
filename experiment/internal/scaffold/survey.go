package scaffold

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/internal/dataload"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
	"github.com/bochner-ml/bochner/internal/rows/textrows"
	"github.com/bochner-ml/bochner/matrices"
)

// survey is a pass over all rows of a file.
type survey struct {
	data    config.Data // format of the file
	columns []profile
	rows    int
	missing []string // missing-value markers that occur
	remarks []string // problems of the file

	controls bool // whether characters occur that are control characters in Latin-1

	sparse  bool         // rows of an svmlight file, or sparse ones of ARFF; the fields below are for these
	inputs  int          // columns
	target  string       // name of the target
	classes []valueCount // classes of the target, if any
	sums    []float64    // of each column
	squares float64      // sum of all squares
}

// surveyOf scans files with the options of data.
func surveyOf(ctx context.Context, data config.Data) (*survey, error) {
	file := dataload.Files(data)
	format, err := file.FormatOf(data.Train)
	if err != nil {
		return nil, err
	}
	paths, err := file.List(data.Train)
	if err != nil {
		return nil, err
	}
	if format != "csv" && format != "tsv" {
		s := &survey{data: data}
		return s, s.read(ctx)
	}
	encodings := []string{"utf-8", "latin-1", "windows-1252"}
	if data.CSV.Encoding == "utf-16" {
		encodings = []string{"utf-16"}
	}
	for i, encoding := range encodings {
		data.CSV.Encoding = encoding
		s := &survey{data: data}
		err = s.scan(ctx, paths, format)
		if errors.Is(err, rowerrors.ErrEncoding) && i+1 < len(encodings) || err == nil && s.controls && encoding == "latin-1" {
			continue
		}
		if err != nil && (s.rows == 0 || ctx.Err() != nil) {
			return nil, err
		}
		if err != nil {
			s.remarks = append(s.remarks, fmt.Sprintf("reading stops here, and so will a run: %v", err))
		}
		if s.rows == 0 {
			return nil, fmt.Errorf("%s: no rows", data.Train)
		}
		return s, nil
	}
	return nil, err
}

// maxValues bounds the number of distinct values counted, over all columns.
const maxValues = 1 << 19

// names returns the names of all columns.
func (s *survey) names() (names []string) {
	for _, p := range s.columns {
		names = append(names, p.name)
	}
	return names
}

// scan scans the records of CSV files.
func (s *survey) scan(ctx context.Context, paths []string, format string) error {
	o := dataload.Files(s.data).CSVOptions(format, datasets.Roles{})
	o.Missing = []string{} // the survey detects missing-value markers
	header := s.data.CSV.Header.Auto || s.data.CSV.Header.Given
	var names []string // in the header of the first file
	ragged, firstRagged := 0, ""
	var err error
	for _, path := range paths {
		var order []int // where the file has the columns; nil before its first record
		begin := func(fields [][]byte) (err error) {
			if s.columns == nil {
				s.name(fields)
				names = words(fields)
			}
			if order, err = orderOf(names, words(fields), header); err != nil {
				err = fmt.Errorf("%s: %w, as in %s", path, err, paths[0])
			}
			return err
		}
		err = o.Scan(ctx, path, func(line int, fields [][]byte) error {
			if order == nil {
				if err := begin(fields); err != nil || header {
					return err
				}
			}
			if len(fields) != len(s.columns) {
				if ragged++; ragged == 1 {
					firstRagged = fmt.Sprintf("line %[1]d must have %[3]d fields, got %[2]d", line, len(fields), len(s.columns))
					if len(paths) > 1 {
						firstRagged += " (" + path + ")"
					}
				}
				return nil
			}
			s.rows++
			for j, at := range order {
				s.columns[j].see(line, s.present(fields[at]))
			}
			return nil
		})
		if err != nil {
			break
		}
	}
	if ragged > 0 {
		s.remarks = append(s.remarks, fmt.Sprintf("%s, and %d rows are like that; a run refuses them", firstRagged, ragged))
		if s.rows == 0 {
			return fmt.Errorf("%s: %s", paths[0], firstRagged)
		}
	}
	return err
}

func words(fields [][]byte) []string {
	out := make([]string, len(fields))
	for j, field := range fields {
		out[j] = string(field)
	}
	return out
}

// orderOf returns the positions in a record of the columns named in the first file: by name if the
// record is a header, else by number.
func orderOf(names, fields []string, header bool) ([]int, error) {
	order := make([]int, len(names))
	for j := range order {
		order[j] = j
	}
	if !header || slices.Equal(names, fields) {
		return order, nil
	}
	for j, name := range names {
		if order[j] = slices.Index(fields, name); order[j] < 0 {
			return nil, fmt.Errorf("header must have column %q", name)
		}
	}
	for _, name := range fields {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("header must not have column %q", name)
		}
	}
	if len(fields) != len(names) {
		return nil, fmt.Errorf("header must have %[2]d columns, got %[1]d", len(fields), len(names))
	}
	return order, nil
}

// name makes the columns, by the first record.
func (s *survey) name(fields [][]byte) {
	header := s.data.CSV.Header.Auto || s.data.CSV.Header.Given
	seen := map[string]bool{}
	repeated := ""
	for j, field := range fields {
		p := profile{name: "x" + strconv.Itoa(j)}
		p.tally.most = min(max(maxValues/len(fields), 256), 1<<14)
		if header && field != nil {
			p.name = string(field)
		}
		p.nameless = header && field == nil
		for k := 2; seen[p.name]; k++ {
			repeated, p.name = string(field), fmt.Sprintf("%s_%d", field, k)
		}
		seen[p.name] = true
		s.columns = append(s.columns, p)
	}
	if repeated != "" {
		s.remarks = append(s.remarks,
			fmt.Sprintf("the header has several columns called %s; csv.columns gives them names of their own", repeated))
		s.data.CSV.Header = reader.Header{Given: true}
		for _, p := range s.columns {
			s.data.CSV.Columns = append(s.data.CSV.Columns, p.name)
		}
	}
}

// present returns a field, nil if it is a missing-value marker.
func (s *survey) present(field []byte) []byte {
	if field == nil {
		return nil
	}
	if s.data.CSV.Encoding == "latin-1" && !s.controls {
		for i := 0; i+1 < len(field); i++ {
			s.controls = s.controls || field[i] == 0xc2 && field[i+1] < 0xa0
		}
	}
	if c := field[0]; c != '?' && c != 'N' && c != 'n' {
		return field
	}
	at := slices.Index(reader.MissingStrings, string(field))
	if at < 0 {
		return field
	}
	if !slices.Contains(s.missing, reader.MissingStrings[at]) {
		s.missing = append(s.missing, reader.MissingStrings[at])
	}
	return nil
}

// words returns the value of csv.missing with additional strings: nothing if only NaN occurs, which
// is a missing value by default.
func (s *survey) words(more []string) reader.Strings {
	out := append(slices.Clone(s.missing), more...)
	if !slices.ContainsFunc(out, func(word string) bool { return word != "NaN" && word != "nan" }) {
		return nil
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// read scans the rows of a file with typed columns.
func (s *survey) read(ctx context.Context) error {
	spec := config.New()
	spec.Data = s.data
	spec.Data.MissingTarget = "drop"
	outside, err := s.leaveOut(ctx, &spec.Data)
	if err != nil {
		return err
	}
	parts, err := dataload.Open(ctx, spec)
	if err != nil {
		return err
	}
	train := parts.Train
	schema := train.Schema()
	_, s.inputs = train.Dims()
	if len(schema.Targets) > 0 {
		s.target = schema.Targets[0].Name
	}
	all := append(slices.Clone(schema.Columns), schema.Targets...)
	if partial, ok := train.(rowsource.FilteredSource); ok && len(partial.SkippedRows()) > 0 {
		s.columns = make([]profile, len(all))
		s.columns[len(all)-1].missing = len(partial.SkippedRows())
	}
	err = train.Blocks(ctx, func(block datasets.Set) error {
		s.rows += block.Rows()
		if rows, ok := block.X.(*matrices.CSR); ok {
			s.sparse = true
			s.spread(rows)
			s.count(schema.Classes(), block.Y)
			return nil
		}
		s.take(all, block)
		return nil
	})
	if at := len(s.columns) - 1; err == nil && at >= 0 {
		s.columns = slices.Insert(s.columns, at, outside...) // the last one may be the target
	}
	return err
}

// leaveOut excludes columns of unsupported types, and returns their profiles: times as strings.
func (s *survey) leaveOut(ctx context.Context, data *config.Data) ([]profile, error) {
	file := dataload.Files(*data)
	if file.IsSVMLight(data.Train) {
		return nil, nil
	}
	src, err := file.Open(ctx, data.Train, datasets.Roles{Schema: &datasets.Schema{}})
	typed, ok := src.(rowsource.TypedSource)
	if err != nil || !ok || len(typed.UnsupportedColumns()) == 0 {
		return nil, err
	}
	names := src.Schema().Columns
	var out []profile
	var times []string
	for _, c := range typed.UnsupportedColumns() {
		p := profile{name: c.Column}
		p.tally.most = min(max(maxValues/len(names), 256), 1<<14)
		if !c.IsTime {
			p.unfit = c.Reason
		} else {
			times = append(times, c.Column)
		}
		out = append(out, p)
		data.Drop = append(data.Drop, c.Column)
		names = slices.DeleteFunc(names, func(n datasets.Column) bool { return n.Name == c.Column })
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: must have a column of numbers or strings", data.Train[0])
	}
	if len(data.Target) == 0 && !datasets.Task(data.Task).Unsupervised() {
		data.Target = reader.Strings{names[len(names)-1].Name}
	}
	return out, s.takeTimes(ctx, file, names[0], times, out)
}

// takeTimes profiles columns of times as strings, next to a column of another kind.
func (s *survey) takeTimes(ctx context.Context, file reader.Files, column datasets.Column, times []string,
	profiles []profile) error {
	if len(times) == 0 {
		return nil
	}
	roles := datasets.Roles{Schema: &datasets.Schema{Columns: []datasets.Column{{Name: column.Name,
		Kind: datasets.Categorical}}}, IgnoreExtra: true, Passthrough: times}
	src, err := file.Open(ctx, s.data.Train, roles)
	if err != nil {
		return err
	}
	return src.Blocks(ctx, func(block datasets.Set) error {
		for _, row := range block.Passthrough {
			for k, t := range row {
				p := &profiles[slices.IndexFunc(profiles, func(p profile) bool { return p.name == times[k] })]
				if t == "" {
					p.see(0, nil)
				} else {
					p.see(0, []byte(t))
				}
			}
		}
		return nil
	})
}

// take profiles the values of a dense block as strings.
func (s *survey) take(all []datasets.Column, block datasets.Set) {
	if s.columns == nil {
		s.columns = make([]profile, len(all))
	}
	var buf []byte
	rows, cols := block.X.Dims()
	text := textrows.Of(block.X)
	for j, c := range all {
		p := &s.columns[j]
		p.name, p.declared, p.kind = c.Name, true, c.Kind
		p.tally.most = min(max(maxValues/len(all), 256), 1<<14)
		for i := range rows {
			v := math.NaN()
			if j < cols {
				v = block.X.At(i, j)
			} else if j == cols && block.Y != nil {
				v = block.Y[i]
			}
			if text != nil && text.IsText(j) {
				var field []byte // nil is missing
				if value, ok := text.Text(i, j); ok {
					field = []byte(value)
				}
				p.see(0, field)
				continue
			}
			switch {
			case math.IsNaN(v):
				p.see(0, nil)
			case c.Kind == datasets.Categorical:
				buf = append(buf[:0], c.Categories[int(v)]...)
				p.see(0, buf)
			default:
				buf = strconv.AppendFloat(buf[:0], v, 'f', -1, 64)
				p.see(0, buf)
			}
		}
	}
}

// count adds up the classes of sparse rows.
func (s *survey) count(classes []string, y []float64) {
	if s.classes == nil {
		for _, name := range classes {
			s.classes = append(s.classes, valueCount{name: name})
		}
	}
	for _, v := range y {
		if len(s.classes) > 0 {
			s.classes[int(v)].count++
		}
	}
}

// spread adds up entries and their squares.
func (s *survey) spread(X *matrices.CSR) {
	rows, cols := X.Dims()
	shared, _ := X.Shared()
	s.sums = append(s.sums, make([]float64, max(cols-len(s.sums), 0))...)
	for i := range rows {
		columns, values := X.Row(i)
		for k, j := range columns {
			v := shared
			if values != nil {
				v = values[k]
			}
			s.sums[j] += v
			s.squares += v * v
		}
	}
}

// variance is the sum of the variances of the columns of sparse rows, which are not standardized.
func (s *survey) variance() float64 {
	n := float64(max(s.rows, 1))
	sum := s.squares / n
	for _, t := range s.sums {
		sum -= t / n * (t / n)
	}
	if sum > 0 {
		return sum
	}
	return 1
}

// find returns the column with the given name or number, or nil.
func (s *survey) find(name string) *profile {
	at := slices.IndexFunc(s.columns, func(p profile) bool { return p.name == name })
	if k, err := strconv.Atoi(name); at < 0 && err == nil {
		if at = k; k < 0 {
			at += len(s.columns)
		}
	}
	if at < 0 || at >= len(s.columns) {
		return nil
	}
	return &s.columns[at]
}

// notation returns the one for the whole file: that in which a column is numbers that is none with a
// decimal point, unless other columns are against it.
func (s *survey) notation() int {
	best, most := 0, 0
	for k := 1; k < len(reader.Notations); k++ {
		gain := 0
		for i := range s.columns {
			p := &s.columns[i]
			values := p.rows - p.missing
			if p.numbers[0] == values && p.against[k] > 0 {
				gain = -1 // the values are numbers in the default notation
				break
			}
			if 10*p.numbers[k] >= 9*values && p.decisive[k] > 0 && p.numbers[k] > p.numbers[0] {
				gain += p.numbers[k]
			}
		}
		// 1,234 alone is ambiguous: between commas it is quoted, as people write thousands; with
		// other delimiters it is read as a decimal.
		if gain > most || gain == most && gain > 0 && reader.Notations[k].Thousands == "," && s.data.CSV.Delimiter == "" {
			best, most = k, gain
		}
	}
	return best
}
