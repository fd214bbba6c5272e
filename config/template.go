package config

import _ "embed"

//go:embed idemrace.yaml
var template []byte

//go:embed idemrace.schema.json
var schema []byte

// Template is the commented file that idemrace init writes.
func Template() []byte { return append([]byte(nil), template...) }

// Schema is the JSON Schema of the file, for editors.
func Schema() []byte { return append([]byte(nil), schema...) }
