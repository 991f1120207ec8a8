package fetch

import "strconv"

const (
	uci      = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
	figshare = "https://ndownloader.figshare.com/files/"
	license  = "CC BY 4.0"
)

var sets = []Set{
	{
		Name: "covtype", Title: "Forest cover type",
		Doc: "Patches of forest in Colorado, 30 m by 30 m: height, slope, light, distances, wilderness area and soil. To tell which of seven kinds of trees grows there.",
		Train: File{
			Name:   "covtype.data.gz",
			SHA256: "614360d0257557dd1792834a85a1cdebfadc3c4f30b011d56afee7ffb5b15771",
			URLs:   []string{uci + "covtype/covtype.data.gz", figshare + "5976039"},
		},
		Rows: [2]int{581012, 0}, Columns: covtypeColumns(), Target: "cover_type",
		Attribution: "Blackard, J. (1998). Covertype. UCI Machine Learning Repository. https://doi.org/10.24432/C50K5N", License: license,
	},
	{
		Name: "kddcup99", Title: "KDD Cup 1999, network intrusions, a tenth of the training rows",
		Doc:   "Connections in a military network that was under attack. To tell normal ones from 22 kinds of attack; the test rows have attacks that no training row has.",
		Train: File{Name: "kddcup.data_10_percent.gz", SHA256: "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561", URLs: []string{uci + "kddcup99-mld/kddcup.data_10_percent.gz", figshare + "5976042"}},
		Test:  kddTest,
		Rows:  [2]int{494021, 311029}, Columns: kddColumns, Target: "label",
		Attribution: kddAttribution, License: license,
	},
	{
		Name: "kddcup99_full", Title: "KDD Cup 1999, network intrusions",
		Doc:   "All training rows of kddcup99, and the same test rows.",
		Train: File{Name: "kddcup.data.gz", SHA256: "3b6c942aa0356c0ca35b7b595a26c89d343652c9db428893e7494f837b274292", URLs: []string{uci + "kddcup99-mld/kddcup.data.gz", figshare + "5976045"}},
		Test:  kddTest,
		Rows:  [2]int{4898431, 311029}, Columns: kddColumns, Target: "label",
		Attribution: kddAttribution, License: license,
	},
}

const kddAttribution = "Stolfo, S., Fan, W., Lee, W., Prodromidis, A. and Chan, P. (1999). KDD Cup 1999 Data. UCI Machine Learning Repository. https://doi.org/10.24432/C51C7N"

var kddTest = File{
	Name:   "corrected.gz",
	SHA256: "74f0daef49b242badc09f2adbd457dea6a45b4f77177efbd11216d333651044b",
	URLs:   []string{uci + "kddcup99-mld/corrected.gz", "http://kdd.ics.uci.edu/databases/kddcup99/corrected.gz"},
}

var kddColumns = []string{
	"duration", "protocol_type", "service", "flag", "src_bytes", "dst_bytes", "land", "wrong_fragment", "urgent",
	"hot", "num_failed_logins", "logged_in", "num_compromised", "root_shell", "su_attempted", "num_root",
	"num_file_creations", "num_shells", "num_access_files", "num_outbound_cmds", "is_host_login", "is_guest_login",
	"count", "srv_count", "serror_rate", "srv_serror_rate", "rerror_rate", "srv_rerror_rate", "same_srv_rate",
	"diff_srv_rate", "srv_diff_host_rate", "dst_host_count", "dst_host_srv_count", "dst_host_same_srv_rate",
	"dst_host_diff_srv_rate", "dst_host_same_src_port_rate", "dst_host_srv_diff_host_rate", "dst_host_serror_rate",
	"dst_host_srv_serror_rate", "dst_host_rerror_rate", "dst_host_srv_rerror_rate", "label",
}

func covtypeColumns() []string {
	columns := []string{
		"elevation", "aspect", "slope", "horizontal_distance_to_hydrology", "vertical_distance_to_hydrology",
		"horizontal_distance_to_roadways", "hillshade_9am", "hillshade_noon", "hillshade_3pm", "horizontal_distance_to_fire_points",
	}
	for i := range 4 {
		columns = append(columns, "wilderness_area_"+strconv.Itoa(i+1))
	}
	for i := range 40 {
		columns = append(columns, "soil_type_"+strconv.Itoa(i+1))
	}
	return append(columns, "cover_type")
}
