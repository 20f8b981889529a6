package export

import (
	"context"
	"database/sql/driver"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
)

// writeProv tells of decisions in W3C PROV-JSON: each decision is an activity
// that used two records, was carried out by an actor under a plan (engine and
// tables), and made a verdict; a superseding verdict is a revision of the old.
func writeProv(ctx context.Context, l *ledger.Ledger, req Request, m *Manifest) ([]string, error) {
	p := newProv()
	args := []any{req.After, req.Until, "", ""}
	if req.Filter.Entity != nil {
		args[2], args[3] = *req.Filter.Entity, *req.Filter.Entity
	}
	err := l.Query(ctx, `SELECT event_id, decision_id, record_a, record_b, entity_type, verb, identity, score, engine, pins::VARCHAR, actor, recorded_at,
		(SELECT p.event_id FROM decisions p, decisions d WHERE d.event_id = v.event_id AND p.event_id = d.supersedes)
		FROM v_decision v`+inScope+`ORDER BY seq`, args, func(v []driver.Value) error {
		m.Count++
		return p.decision(v)
	})
	if err != nil {
		return nil, err
	}
	const name = "decisions.prov.json"
	return []string{name}, replaceFile(filepath.Join(req.Dir, name), func(w io.Writer) error {
		text, err := canon.Indent(p.document())
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	})
}

type prov struct {
	entity, activity, agent                           *canon.Object
	used, generated, associated, attributed, revision *canon.Object
	plans                                             map[string]string
}

func newProv() *prov {
	o := canon.NewObject
	return &prov{o(), o(), o(), o(), o(), o(), o(), o(), map[string]string{}}
}

// name is an id as a qualified name of the arche prefix: colons inside are
// written as dots, because a reader takes the first as the prefix.
func name(kind, id string) string {
	return "arche:" + kind + "." + strings.NewReplacer(":", ".", "|", "_", "@", "_", " ", "_", "/", "_").Replace(id)
}

// qualified is a name as a value.
func qualified(name string) *canon.Object {
	return canon.Obj("$", name, "type", "prov:QUALIFIED_NAME")
}

func (p *prov) decision(v []driver.Value) error {
	text := func(i int) string { s, _ := v[i].(string); return s }
	event, actor := text(0), text(10)
	score, _ := v[7].(float64)
	at, _ := v[11].(time.Time)
	when := at.UTC().Format("2006-01-02T15:04:05.000000Z")
	verdict, act, who := name("verdict", event), name("decision", event), name("actor", actor)
	plan, err := p.plan(text(8), text(9))
	if err != nil {
		return err
	}
	p.entity.Set(verdict, canon.Obj("prov:type", qualified("arche:verdict"), "arche:decision_id", text(1), "arche:identity", text(6), "arche:score", canon.Float(score)))
	for _, i := range []int{2, 3} {
		p.entity.Set(name("record", text(i)), canon.Obj("prov:type", qualified("arche:record"), "arche:entity_type", text(4)))
	}
	p.activity.Set(act, canon.Obj("prov:startTime", when, "prov:endTime", when, "prov:type", qualified("arche:"+text(5))))
	p.agent.Set(who, canon.Obj("arche:actor", actor))
	for i, side := range []string{"a", "b"} {
		p.used.Set("_:use_"+side+"_"+event[len(event)-16:], canon.Obj("prov:activity", act, "prov:entity", name("record", text(2+i)), "prov:role", qualified("arche:side_"+side)))
	}
	id := event[len(event)-16:]
	p.generated.Set("_:gen_"+id, canon.Obj("prov:entity", verdict, "prov:activity", act, "prov:time", when))
	p.associated.Set("_:assoc_"+id, canon.Obj("prov:activity", act, "prov:agent", who, "prov:plan", plan))
	p.attributed.Set("_:attr_"+id, canon.Obj("prov:entity", verdict, "prov:agent", who))
	if was := text(12); was != "" {
		p.revision.Set("_:rev_"+id, canon.Obj("prov:generatedEntity", verdict, "prov:usedEntity", name("verdict", was), "prov:type", qualified("prov:Revision")))
	}
	return nil
}

// plan is the engine with its pins, one entity for all decisions under it.
func (p *prov) plan(engine, pins string) (string, error) {
	if plan, ok := p.plans[pins]; ok {
		return plan, nil
	}
	parsed, err := canon.Parse([]byte(pins), canon.Limits{})
	if err != nil {
		return "", err
	}
	hash, err := canon.PublishedHash(parsed)
	if err != nil {
		return "", err
	}
	plan := name("plan", engine+"."+hash[:16])
	p.plans[pins] = plan
	p.entity.Set(plan, canon.Obj("prov:type", qualified("prov:Plan"), "arche:engine", engine, "arche:pins", pins))
	return plan, nil
}

func (p *prov) document() *canon.Object {
	o := canon.Obj("prefix", canon.Obj("arche", "https://github.com/arche-ledger/arche/ns#"))
	for _, part := range []struct {
		key string
		v   *canon.Object
	}{
		{"entity", p.entity}, {"activity", p.activity}, {"agent", p.agent}, {"used", p.used}, {"wasGeneratedBy", p.generated},
		{"wasAssociatedWith", p.associated}, {"wasAttributedTo", p.attributed}, {"wasDerivedFrom", p.revision},
	} {
		if part.v.Len() > 0 {
			o.Set(part.key, part.v)
		}
	}
	return o
}
