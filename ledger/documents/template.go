package documents

import (
	"embed"
)

//go:embed templates/*.md
var templateFiles embed.FS

// templateOf is the body a document begins with when none is given: headings
// and a line of guidance under each.
func templateOf(typ string) string {
	data, _ := templateFiles.ReadFile("templates/" + typ + ".md") // every type of the schema has one, as a test holds
	return string(data)
}
