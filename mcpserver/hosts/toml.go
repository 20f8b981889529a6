package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// editTOML appends the server's table to a TOML file unless the file has one
// for it, in any of TOML's spellings. Everything else stays byte for byte.
func editTOML(data []byte, t *mcpTarget) (out []byte, note string, err error) {
	id, command, err := findTable(data, t.section)
	if err != nil {
		return nil, "", err
	}
	if id != "" {
		if command != "" && command != "arche" {
			note = "kept the entry " + id + " that " + t.file + " had: it runs another command"
		}
		return data, note, nil
	}
	eol := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		eol = "\r\n"
	}
	var args []string
	for _, a := range strs(t.entry.Value("args")) {
		args = append(args, fmt.Sprintf("%q", a))
	}
	block := []string{
		"[" + t.section + "." + serverID + "]",
		fmt.Sprintf("command = %q", str(t.entry, "command")),
		"args = [" + strings.Join(args, ", ") + "]",
		"",
	}
	kept := bytes.TrimRight(data, "\r\n")
	if len(bytes.TrimSpace(kept)) > 0 {
		out = append(append(out, kept...), eol+eol...)
	}
	return append(out, strings.Join(block, eol)...), "", nil
}

var errTOML = errors.New("not TOML")

// findTable looks for the server's table and the command it runs. It reads
// lines and knows strings that span several; a line that can't be TOML is an
// error.
func findTable(data []byte, section string) (id, command string, err error) {
	if !utf8.Valid(data) {
		return "", "", errTOML
	}
	table := ""
	open := "" // the quotes that end a string of several lines
	depth := 0 // brackets of an array of several lines
	for raw := range strings.SplitSeq(string(data), "\n") {
		line := strings.TrimSpace(raw)
		if open != "" {
			if strings.Contains(line, open) {
				open = ""
			}
			continue
		}
		if depth > 0 {
			depth += bracketDepth(line)
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] == '[' {
			if table, err = header(line); err != nil {
				return "", "", err
			}
			if name, ok := serverOf(table, section); ok {
				id = name
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return "", "", errTOML
		}
		path := joinKey(table, normalKey(key))
		value = strings.TrimSpace(value)
		if name, ok := serverOf(path, section); ok {
			id = name
			if strings.HasSuffix(path, ".command") {
				command = strings.Trim(strings.TrimSpace(strings.SplitN(value, "#", 2)[0]), `"'`)
			}
		}
		if path == section && inlineNames(value) != "" {
			id = inlineNames(value)
		}
		open = openString(value)
		if open == "" {
			depth = max(0, bracketDepth(value))
		}
	}
	if open != "" || depth > 0 {
		return "", "", errTOML
	}
	return id, command, nil
}

// header reads [a.b] and [[a.b]] as a.b.
func header(line string) (string, error) {
	end := strings.LastIndexByte(line, ']')
	if hash := strings.Index(line, "] #"); hash >= 0 {
		end = hash
	} else if hash := strings.Index(line, "]#"); hash >= 0 {
		end = hash
	}
	if end < 0 {
		return "", errTOML
	}
	inner := strings.Trim(line[:end], "[]")
	if strings.TrimSpace(inner) == "" {
		return "", errTOML
	}
	return normalKey(inner), nil
}

// normalKey writes a dotted key without quotes and spaces.
func normalKey(key string) string {
	parts := strings.Split(key, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}

func joinKey(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// serverOf says which of our names a key path is under.
func serverOf(path, section string) (string, bool) {
	rest, ok := strings.CutPrefix(path, section+".")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, ".")
	return name, name == serverID || name == altServerID
}

// inlineNames finds our entry in an inline table { archcore = {...} }.
func inlineNames(value string) string {
	for _, id := range []string{serverID, altServerID} {
		for _, spelled := range []string{id, `"` + id + `"`, "'" + id + "'"} {
			for _, before := range []string{"{", "{ ", ", ", ","} {
				for _, after := range []string{" =", "="} {
					if strings.Contains(value, before+spelled+after) {
						return id
					}
				}
			}
		}
	}
	return ""
}

// openString returns the quotes that a value opens and does not close.
func openString(value string) string {
	for _, q := range []string{`"""`, `'''`} {
		if rest, ok := strings.CutPrefix(value, q); ok && !strings.Contains(rest, q) {
			return q
		}
	}
	return ""
}

// bracketDepth counts brackets outside strings and comments.
func bracketDepth(s string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			return depth
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
	}
	return depth
}
