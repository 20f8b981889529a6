package documents

import (
	_ "embed"
	"encoding/json"
	"path"
	"strings"
)

//go:embed data/schema.json
var schemaJSON []byte

// docType is one of the document types a project may hold.
type docType struct {
	Name     string `json:"name"`
	Category string `json:"category"`
	Rank     int    `json:"rank"` // place among equal search scores, lower first
}

// schema is the fixed vocabulary of the knowledge base.
type schema struct {
	Types            []docType `json:"types"`
	Categories       []string  `json:"categories"`
	Statuses         []string  `json:"statuses"`
	Relations        []string  `json:"relations"`
	SourceExtensions []string  `json:"source_extensions"`
}

// What a document has whose type is missing or unknown.
const (
	defaultCategory = "knowledge"
	defaultRank     = 100
)

var (
	vocabulary = loadSchema()
	typesByName,
	validTypes = indexTypes(vocabulary.Types)
	validStatuses   = strings.Join(vocabulary.Statuses, ", ")
	validCategories = strings.Join(vocabulary.Categories, ", ")
)

func loadSchema() schema {
	var s schema
	if err := json.Unmarshal(schemaJSON, &s); err != nil {
		panic("documents: embedded schema: " + err.Error())
	}
	return s
}

func indexTypes(types []docType) (map[string]docType, string) {
	byName := make(map[string]docType, len(types))
	names := make([]string, 0, len(types))
	for _, t := range types {
		byName[t.Name] = t
		names = append(names, t.Name)
	}
	return byName, strings.Join(names, ", ")
}

// Types returns the names of the document types in the order lists show them.
func Types() []string { return names(vocabulary.Types) }

func names(types []docType) []string {
	out := make([]string, 0, len(types))
	for _, t := range types {
		out = append(out, t.Name)
	}
	return out
}

// Categories returns the three categories.
func Categories() []string { return append([]string(nil), vocabulary.Categories...) }

// Statuses returns the statuses a tool may set.
func Statuses() []string { return append([]string(nil), vocabulary.Statuses...) }

// RelationTypes returns the seven types of relation.
func RelationTypes() []string { return append([]string(nil), vocabulary.Relations...) }

// categoryOf is the category of a type; the folder has no say in it.
func categoryOf(typ string) string {
	if t, ok := typesByName[typ]; ok {
		return t.Category
	}
	return defaultCategory
}

func rankOf(typ string) int {
	if t, ok := typesByName[typ]; ok {
		return t.Rank
	}
	return defaultRank
}

// splitName reads slug and type out of a file name: what follows the last dot
// before .md is the type, "" when there is none.
func splitName(filename string) (slug, typ string) {
	stem := strings.TrimSuffix(filename, ".md")
	if i := strings.LastIndexByte(stem, '.'); i >= 0 {
		return stem[:i], stem[i+1:]
	}
	return stem, ""
}

// isMeta reports whether a file name is one of the two that are never
// documents.
func isMeta(filename string) bool {
	return filename == settingsFile || filename == manifestFile
}

// isDocumentName reports whether a slash path names a markdown file that may
// be a document.
func isDocumentName(p string) bool {
	base := path.Base(p)
	return strings.HasSuffix(base, ".md") && !isMeta(base)
}

func isSlug(s string) bool {
	for part := range strings.SplitSeq(s, "-") {
		if part == "" {
			return false
		}
		for i := range len(part) {
			if c := part[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				return false
			}
		}
	}
	return true
}

func isTag(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != ':' && c != '|' && c != '-' {
			return false
		}
	}
	return true
}

// titleFromSlug makes the title of a document that was given none.
func titleFromSlug(slug string) string {
	parts := strings.Split(slug, "-")
	for i, p := range parts {
		parts[i] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, " ")
}
