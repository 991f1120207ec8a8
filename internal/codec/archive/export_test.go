package archive

// Names of this package for its tests.
const (
	IndexName  = indexName
	SealLength = sealLength
	ChunkBytes = chunkBytes
)

var (
	MaxIndexBytes = &maxIndexBytes
	NewSealer     = newSealer
)

// WriteChecksum is writeChecksum.
func (s *checksumWriter) WriteChecksum() error { return s.writeChecksum() }
