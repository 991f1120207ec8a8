package rowfile

import "github.com/bochner-ml/bochner/internal/runtime/files"

// CheckOutput returns an error if writing the file out would replace one of the inputs. Inputs are files, patterns or
// directories, compared after resolving links.
func CheckOutput(out string, inputs ...string) error {
	for _, in := range inputs {
		found, _ := List(nil, in) // opening the inputs reports their errors
		if err := files.CheckOutput(out, found...); err != nil {
			return err
		}
	}
	return nil
}
