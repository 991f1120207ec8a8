module github.com/bochner-ml/bochner/notebook

go 1.26.0

require (
	github.com/cosmos72/gomacro v0.0.0-20220530072503-c719ab5c40fc
	github.com/go-zeromq/zmq4 v0.14.1
	github.com/gofrs/uuid v4.2.0+incompatible
	github.com/gopherdata/gophernotes v0.7.5
	golang.org/x/tools v0.47.0
)

require (
	github.com/apache/arrow-go/v18 v18.7.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/goccy/go-json v0.10.6 // indirect
	github.com/google/flatbuffers v25.12.19+incompatible // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/guptarohit/asciigraph v0.5.1 // indirect
	github.com/klauspost/compress v1.19.2 // indirect
	github.com/klauspost/cpuid/v2 v2.4.0 // indirect
	github.com/olekukonko/tablewriter v0.0.4 // indirect
	github.com/pierrec/lz4/v4 v4.1.29 // indirect
	github.com/rocketlaunchr/dataframe-go v0.0.0-20201007021539-67b046771f0b // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	golang.org/x/exp v0.0.0-20260112195511-716be5621a96 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

require (
	github.com/bochner-ml/bochner v0.0.0
	github.com/go-zeromq/goczmq/v4 v4.2.2 // indirect
	github.com/mattn/go-runewidth v0.0.20 // indirect
	github.com/peterh/liner v1.2.1 // indirect
	github.com/sjwhitworth/golearn v0.0.0-20221228163002-74ae077eafb2
	golang.org/x/mod v0.37.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	gonum.org/v1/gonum v0.17.0
)

replace github.com/bochner-ml/bochner => ../
