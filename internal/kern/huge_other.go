//go:build !linux

package kern

func hugePages([]byte) {}
