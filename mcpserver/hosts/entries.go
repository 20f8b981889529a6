package hosts

import (
	"slices"

	"github.com/tailscale/hujson"

	"github.com/arche-ledger/arche/internal/canon"
)

// editServers puts the server entry into a JSON file. An entry under our name,
// or under the one people give the server by hand, is kept as it is: note says
// so when it does not run this program.
func editServers(data []byte, t *mcpTarget) (out []byte, note string, err error) {
	j, err := parseJSONC(data)
	if err != nil {
		return nil, "", err
	}
	existing := member(j.top(), t.section)
	if existing != nil {
		if s, ok := existing.Value.(*hujson.Object); ok {
			for _, id := range []string{serverID, altServerID} {
				if v := member(s, id); v != nil {
					return data, keptNote(t.file, id, *v), nil
				}
			}
		}
	}
	s, err := j.section(j.top(), t.section, 0)
	if err != nil {
		return nil, "", err
	}
	v, err := j.value(t.entry, 2)
	if err != nil {
		return nil, "", err
	}
	j.add(s, serverID, v, 1)
	return j.bytes(), "", nil
}

func keptNote(file, id string, v hujson.Value) string {
	o, _ := plain(v)
	command, _ := o.Value("command").(string)
	if words := strs(o.Value("command")); len(words) > 0 {
		command = words[0]
	}
	if command == "arche" {
		return ""
	}
	return "kept the entry " + id + " that " + file + " had: it runs another command"
}

// editHooks puts the hooks of a host into a JSON file.
func editHooks(data []byte, t *hookTarget) ([]byte, error) {
	j, err := parseJSONC(data)
	if err != nil {
		return nil, err
	}
	changed := false
	if t.version && member(j.top(), "version") == nil {
		j.add(j.top(), "version", hujson.Int(1), 0)
		changed = true
	}
	hooks, err := j.section(j.top(), "hooks", 0)
	if err != nil {
		return nil, err
	}
	for _, e := range t.events {
		list, err := j.array(hooks, e.event, 1)
		if err != nil {
			return nil, err
		}
		edited, err := j.putHook(list, e.entry)
		if err != nil {
			return nil, err
		}
		changed = changed || edited
	}
	if !changed {
		return data, nil
	}
	return j.bytes(), nil
}

// putHook brings one event's entries to hold the wanted one once. Entries of
// others are never touched; one of the published program counts as ours.
func (j *jsonc) putHook(a *hujson.Array, want *canon.Object) (changed bool, err error) {
	wanted, err := canon.Sorted(want)
	if err != nil {
		return false, err
	}
	var ours []int
	for i, e := range a.Elements {
		o, text := plain(e)
		own, published, foreign := sides(o)
		switch {
		case text == string(wanted), published:
			return false, nil
		case own && foreign:
			if holds(o, want) {
				return false, nil
			}
		case own:
			ours = append(ours, i)
		}
	}
	if len(ours) == 0 {
		v, err := j.value(want, 3)
		if err != nil {
			return false, err
		}
		j.push(a, v, 2)
		return true, nil
	}
	entry := a.Elements[ours[0]].Value.(*hujson.Object)
	for key, value := range want.All() {
		v, err := j.value(value, 4)
		if err != nil {
			return false, err
		}
		if at := member(entry, key); at != nil {
			at.Value = v
		} else {
			j.add(entry, key, v, 3)
		}
	}
	for _, i := range slices.Backward(ours[1:]) {
		if i == len(a.Elements)-1 && a.Elements[i].AfterExtra == nil {
			a.Elements[i-1].AfterExtra = nil // the new last element has no comma to follow
		}
		a.Elements = slices.Delete(a.Elements, i, i+1)
	}
	return true, nil
}

// commandsOf are the commands that a hook entry runs.
func commandsOf(o *canon.Object) []string {
	var out []string
	for _, key := range []string{"command", "bash", "powershell"} {
		if s := str(o, key); s != "" {
			out = append(out, s)
		}
	}
	for _, h := range list(o.Value("hooks")) {
		out = append(out, commandsOf(h)...)
	}
	return out
}

// sides says whose commands an entry runs.
func sides(o *canon.Object) (own, published, foreign bool) {
	for _, c := range commandsOf(o) {
		switch {
		case isOwnCommand(c):
			own = true
		case isPublishedCommand(c):
			published = true
		default:
			foreign = true
		}
	}
	return own, published, foreign
}

// holds reports whether an entry that others share runs our command under our
// matcher.
func holds(o, want *canon.Object) bool {
	if str(o, "matcher") != str(want, "matcher") {
		return false
	}
	have := commandsOf(o)
	for _, c := range commandsOf(want) {
		if !slices.Contains(have, c) {
			return false
		}
	}
	return true
}
