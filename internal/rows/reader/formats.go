package reader

import (
	"path/filepath"
	"slices"
	"strings"
)

// formats are the supported formats with their file extensions.
var formats = []struct {
	name    string
	endings []string
}{
	{"csv", []string{".csv", ".data", ".test", ".txt"}},
	{"tsv", []string{".tsv", ".tab"}},
	{"svmlight", []string{".svm", ".libsvm", ".svmlight"}},
	{"arff", []string{".arff"}},
	{"jsonl", []string{".jsonl", ".ndjson"}},
	{"npy", []string{".npy"}},
	{"npz", []string{".npz"}},
	{"parquet", []string{".parquet", ".pq"}},
	{"arrow", []string{".arrow", ".arrows", ".feather", ".ipc"}},
}

// Formats returns the names of the formats that rows may be written in.
func Formats() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.name)
	}
	return out
}

// Extensions returns the file extensions of the supported formats.
func Extensions() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.endings...)
	}
	return out
}

// FormatOf returns the format by the extension of a file, or of its directory for a file without
// one, as in rows.csv/part-00000; "" if unknown. A final .gz is ignored.
func FormatOf(path string) string {
	name := strings.TrimSuffix(strings.ToLower(filepath.ToSlash(path)), ".gz")
	if filepath.Ext(name) == "" {
		name = strings.TrimSuffix(filepath.ToSlash(filepath.Dir(name)), ".gz")
	}
	ending := filepath.Ext(name)
	for _, f := range formats {
		if slices.Contains(f.endings, ending) {
			return f.name
		}
	}
	return ""
}

// FormatNames is the formats in a sentence.
func FormatNames() string {
	all := Formats()
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + " or " + all[last]
}
