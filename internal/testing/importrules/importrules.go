// Package importrules tests which packages import which, and the order of the files of large packages.
package importrules
