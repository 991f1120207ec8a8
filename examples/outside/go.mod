module example.org/outside

go 1.26.0

require (
	github.com/bochner-ml/bochner v0.0.0
	gonum.org/v1/gonum v0.17.0
)

require (
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/bochner-ml/bochner => ../../
