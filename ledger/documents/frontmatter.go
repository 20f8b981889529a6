package documents

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const byteOrderMark = "\uFEFF"

// head is the metadata block of a document. The three owned keys are the ones
// tools read and write; all others belong to the people who wrote them.
type head struct {
	Title  string   `yaml:"title"`
	Status string   `yaml:"status"`
	Tags   []string `yaml:"tags"`
}

func isOwnedKey(k string) bool { return k == "title" || k == "status" || k == "tags" }

// fold makes every line end LF.
func fold(s string) string {
	if !strings.Contains(s, "\r\n") {
		return s
	}
	return strings.ReplaceAll(s, "\r\n", "\n")
}

// headSpan finds the metadata block in text as it lies on disk: block is
// text[start:end] with its own line ends, body starts at bodyAt. A block is
// there only when the first line is --- and a later one, not the second,
// closes it; an unterminated last line may close it too.
func headSpan(text string) (start, end, bodyAt int, ok bool) {
	at := 0
	if strings.HasPrefix(text, byteOrderMark) {
		at = len(byteOrderMark)
	}
	all := at
	switch {
	case strings.HasPrefix(text[at:], "---\n"):
		at += 4
	case strings.HasPrefix(text[at:], "---\r\n"):
		at += 5
	default:
		return 0, 0, at, false
	}
	start = at
	for line := at; line < len(text); {
		next := strings.IndexByte(text[line:], '\n')
		if next < 0 {
			if line > start && text[line:] == "---" {
				return start, lineEnd(text, line), len(text), true
			}
			break
		}
		next += line + 1
		if line > start && strings.TrimSuffix(text[line:next-1], "\r") == "---" {
			return start, lineEnd(text, line), skipNewline(text, next), true
		}
		line = next
	}
	return 0, 0, all, false
}

// lineEnd is where the line before the one at i ends, its line end left out.
func lineEnd(text string, i int) int {
	i--
	if i > 0 && text[i-1] == '\r' {
		i--
	}
	return i
}

func skipNewline(text string, i int) int {
	switch {
	case strings.HasPrefix(text[i:], "\n"):
		return i + 1
	case strings.HasPrefix(text[i:], "\r\n"):
		return i + 2
	}
	return i
}

// parsed is a document's text taken apart, line ends folded.
type parsed struct {
	head head
	doc  *yaml.Node // the block, empty for one that says nothing or is in the plain form
	body string
	err  error // the block is not the YAML it should be; head holds what could be read
}

// parseDocument takes the text of a file apart. It never fails: err says what
// is wrong with the block.
func parseDocument(text string) parsed {
	start, end, bodyAt, ok := headSpan(text)
	p := parsed{doc: &yaml.Node{}, body: fold(text[bodyAt:])}
	if ok {
		p.head, p.doc, p.err = decodeHead(fold(text[start:end]))
	}
	return p
}

// stripHead returns content without a metadata block it begins with. A byte
// order mark in front keeps the block as text.
func stripHead(content string) string {
	if strings.HasPrefix(content, byteOrderMark) {
		return content
	}
	_, _, bodyAt, ok := headSpan(content)
	if !ok {
		return content
	}
	return fold(content[bodyAt:])
}

// decodeHead reads a block and its owned keys. Scalars of any kind give their
// source text; what could be read is returned beside an error.
func decodeHead(block string) (h head, doc *yaml.Node, err error) {
	doc = &yaml.Node{}
	if quick, ok := quickHead(block); ok {
		return quick, doc, nil
	}
	if strings.TrimSpace(block) == "" {
		return head{}, doc, nil
	}
	err = guarded(func() error {
		if err := yaml.Unmarshal([]byte(block), doc); err != nil {
			return err
		}
		if len(doc.Content) == 1 && doc.Content[0].Kind != yaml.MappingNode && doc.Content[0].Tag != "!!null" {
			return errors.New("metadata block is no mapping")
		}
		return doc.Decode(&h)
	})
	return h, doc, err
}

// guarded makes an error of a panic: the YAML reader has no error for some of
// what it may meet, and the writer refuses by panic.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("metadata block: %v", r)
		}
	}()
	return f()
}

// quickHead reads the plain form that tools write, the bulk of any project,
// without a YAML reader: title in double quotes without escapes, a status
// word, tags one a line in double quotes. Anything else is not ok.
func quickHead(block string) (h head, ok bool) {
	seen := 0
	for line := range strings.SplitSeq(block, "\n") {
		key, value, found := strings.Cut(line, ": ")
		switch {
		case found && key == "title" && seen < 1:
			h.Title, ok = plainQuoted(value)
			seen = 1
		case found && key == "status" && seen < 2:
			h.Status, ok = value, isPlainWord(value)
			seen = 2
		case line == "tags:" && seen < 3:
			ok = true
			seen = 3
		case seen == 3 && strings.HasPrefix(line, "  - "):
			var tag string
			tag, ok = plainQuoted(line[len("  - "):])
			h.Tags = append(h.Tags, tag)
		default:
			ok = false
		}
		if !ok {
			return head{}, false
		}
	}
	return h, ok
}

func plainQuoted(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r < ' ' || r >= 0x7f && r < 0xa0, // escapes and controls
			r == 0x2028 || r == 0x2029, r >= 0xd800: // line breaks to a YAML reader; rare planes
			return "", false
		}
	}
	return s, true
}

// isPlainWord accepts the statuses alone: other bare words may be something
// else to a YAML reader (true, null, 1e3).
func isPlainWord(s string) bool { return slices.Contains(vocabulary.Statuses, s) }

var errKeepHead = errors.New("metadata block cannot be kept")

// compose writes a document: the owned keys in their fixed form, then the
// foreign keys of the old block in their order, style and with their comments,
// an empty line, the body. clearTags says the caller asked for no tags.
func compose(h head, old *yaml.Node, clearTags bool, body string) (string, error) {
	kept := foreignKeys(old)
	foreign, err := writeForeign(old, kept)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("title: " + strconv.Quote(h.Title) + "\nstatus: " + h.Status + "\n")
	switch {
	case len(h.Tags) > 0:
		b.WriteString("tags:\n")
		for _, t := range h.Tags {
			b.WriteString("  - " + strconv.Quote(t) + "\n")
		}
	case clearTags && slices.ContainsFunc(kept, isMergeKey):
		b.WriteString("tags: []\n")
	}
	b.WriteString(foreign)
	block := b.String()
	if err := survives(block, h, kept); err != nil {
		return "", err
	}
	return "---\n" + block + "---\n\n" + body, nil
}

// survives checks that a block reads back as what was meant, foreign keys with
// their values and order included.
func survives(block string, want head, foreign []*yaml.Node) error {
	if strings.Contains("\n"+block, "\n---\n") {
		return errKeepHead
	}
	block = strings.TrimSuffix(block, "\n")
	got, doc, err := decodeHead(block)
	if err != nil || got.Title != want.Title || got.Status != want.Status || !slices.Equal(got.Tags, want.Tags) {
		return errKeepHead
	}
	if !slices.EqualFunc(foreign, foreignKeys(doc), sameNode) {
		return errKeepHead
	}
	return nil
}

// sameNode compares two YAML values: what they say, not how they are written.
func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.ShortTag() != b.ShortTag() || a.Value != b.Value || a.Anchor != b.Anchor {
		return false
	}
	return slices.EqualFunc(a.Content, b.Content, sameNode)
}

// foreignKeys are the keys of a block that tools do not own, each followed by
// its value.
func foreignKeys(doc *yaml.Node) []*yaml.Node {
	var kept []*yaml.Node
	for _, p := range pairs(doc) {
		if p[0].Kind != yaml.ScalarNode || !isOwnedKey(p[0].Value) {
			kept = append(kept, p...)
		}
	}
	return kept
}

// pairs are the keys of a block, each with its value.
func pairs(doc *yaml.Node) [][]*yaml.Node {
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	return slices.Collect(slices.Chunk(doc.Content[0].Content, 2))
}

func isMergeKey(n *yaml.Node) bool { return n.Tag == "!!merge" }

// writeForeign writes foreign keys as YAML lines, four spaces a level. Comments
// that stand between keys and belong to none go with the first one.
func writeForeign(doc *yaml.Node, kept []*yaml.Node) (string, error) {
	if len(kept) == 0 {
		loose := []string{doc.HeadComment}
		for _, p := range pairs(doc) {
			loose = append(loose, p[0].FootComment)
		}
		return comments(append(loose, doc.FootComment)...), nil
	}
	top := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: slices.Clone(kept)}
	if doc.HeadComment != "" {
		first := *kept[0]
		first.HeadComment = strings.TrimRight(doc.HeadComment+"\n"+first.HeadComment, "\n")
		top.Content[0] = &first
	}
	var out bytes.Buffer
	err := guarded(func() error {
		enc := yaml.NewEncoder(&out)
		enc.SetIndent(4)
		whole := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{top}, FootComment: doc.FootComment}
		return errors.Join(enc.Encode(whole), enc.Close())
	})
	return out.String(), err
}

// comments keeps what stands between the keys of a block that has no foreign
// ones.
func comments(parts ...string) string {
	var b strings.Builder
	for _, c := range parts {
		if c = strings.TrimRight(c, "\n"); c != "" {
			b.WriteString(c + "\n")
		}
	}
	return b.String()
}
