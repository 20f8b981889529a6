package documents

import (
	"embed"
)

//go:embed templates/*.md
var templateFiles embed.FS

// templateOf is the body a document begins with when none is given: headings
// and a line of guidance under each.
func templateOf(typ string) string {
	data, err := templateFiles.ReadFile("templates/" + typ + ".md")
	if err != nil { // every type of the schema has one; a test holds them together
		data, err = templateFiles.ReadFile("templates/doc.md")
	}
	if err != nil {
		return ""
	}
	return string(data)
}
