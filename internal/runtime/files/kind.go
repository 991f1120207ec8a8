package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// KindBytes is the length of the start of a file by which [Kind] recognizes its format.
const KindBytes = 4096

// Kind returns the format of a file by its start, "" for an unknown one, and for a format that
// cannot be read as data the remedy.
func Kind(start []byte) (name, remedy string) {
	const sheet = "export the sheet as CSV"
	has := func(part string) bool { return bytes.Contains(start, []byte(part)) }
	for _, k := range [...]struct{ start, part, name, remedy string }{
		{"PK\x03\x04", "[Content_Types].xml", "an Excel workbook (.xlsx)", sheet},
		{"PK\x03\x04", "xl/", "an Excel workbook (.xlsx)", sheet},
		{"PK\x03\x04", "opendocument.spreadsheet", "an OpenDocument spreadsheet (.ods)", sheet},
		{"PK\x03\x04", "model.json", ModelKind, "name the file of the rows"},
		{"\xd0\xcf\x11\xe0", "", "an Excel workbook (.xls)", sheet},
		{"SQLite format 3\x00", "", "an SQLite database", "name it by data.sql.url, or export a table as CSV"},
		{"%PDF-", "", "a PDF document", "export its table as CSV"},
		{"PAR1", "", "a Parquet file", ""},
		{"ARROW1", "", "an Arrow file", ""},
		{"\x93NUMPY", "", "a NumPy array", ""},
		{"\x1f\x8b", "", "a gzip file", ""},
	} {
		if bytes.HasPrefix(start, []byte(k.start)) && has(k.part) {
			return k.name, k.remedy
		}
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
	switch {
	case len(text) == 0 || bytes.ContainsFunc(text, control):
		return "", ""
	case text[0] == '[' && bytes.IndexAny(bytes.TrimLeft(text[1:], " \t\r\n"), "[{") == 0:
		return "a JSON array", "write one JSON object a line (.jsonl), or export it as CSV"
	case text[0] == '[' || text[0] == '{':
		return "JSON", ""
	}
	return "a text file, such as CSV or YAML", ""
}

// control reports whether a character does not occur in text.
func control(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' }

// CheckData returns an error that names the format of a file and the remedy if the start of the
// file shows that it cannot be read as data.
func CheckData(path string, start []byte) error {
	if name, remedy := Kind(start); remedy != "" {
		return fmt.Errorf("cannot read %s: it is %s; %s", path, name, remedy)
	}
	return nil
}

// KindOf returns the format of the file at path, "" for an unknown one.
func KindOf(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	start, _ := io.ReadAll(io.LimitReader(file, KindBytes))
	name, _ := Kind(start)
	return name
}

// ModelKind is the result of [Kind] for a model file.
const ModelKind = "a model file"

// ModelName is the name of the model file in the directory of a run.
const ModelName = "model.bochner"

// Model returns the path of a model file: path itself, or the model in the directory of a run at
// path.
func Model(path string) (string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path, nil // opening the file reports the error
	}
	inside := filepath.Join(path, ModelName)
	if _, err := os.Stat(inside); errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s is a directory without %s; name a model file or the directory of a run", path, ModelName)
	}
	return inside, nil
}
