module example.org/outside

go 1.26.0

require (
	github.com/bochner-ml/bochner v0.0.0
	gonum.org/v1/gonum v0.17.0
)

require (
	github.com/klauspost/compress v1.19.2 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/pierrec/lz4/v4 v4.1.29 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/bochner-ml/bochner => ../../
