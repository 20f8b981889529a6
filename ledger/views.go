package ledger

// views are what people and other programs read of a ledger file with any
// DuckDB client, and what exports are made of. Their names and columns are a
// promise: columns are added, never renamed. No view shows a record's values.
//
// decisions.seq and the like are places in the log "main"; each row of a
// projection has its event there, whose body holds what projections leave out.
var views = []string{
	`CREATE VIEW v_event AS SELECT e.log, e.seq, e.id, e.kind, e.subject, e.supersedes, e.actor, e.recorded_at, e.body::JSON AS body, e.link, e.v
		FROM events e`,
	`COMMENT ON VIEW v_event IS 'the log: one row an event, in order; everything else is a fold of it'`,
	`COMMENT ON COLUMN v_event.seq IS 'place in the log, from 1 without a gap'`,
	`COMMENT ON COLUMN v_event.id IS 'address of the event, a hash of kind, subject, supersedes and body'`,
	`COMMENT ON COLUMN v_event.supersedes IS 'the one event that this one replaces'`,
	`COMMENT ON COLUMN v_event.recorded_at IS 'UTC'`,
	`COMMENT ON COLUMN v_event.link IS 'link of the hash chain: covers this row and all before it'`,

	`CREATE VIEW v_membership AS SELECT record_id, entity_id, entity_type, seq AS since_seq
		FROM (SELECT *, rowid AS place FROM members)
		QUALIFY row_number() OVER (PARTITION BY record_id ORDER BY seq DESC, place DESC) = 1 AND coalesce(entity_id, '') <> ''`,
	`COMMENT ON VIEW v_membership IS 'which entity a record is in now; records in none are absent'`,

	`CREATE VIEW v_record AS SELECT r.record_id, r.entity_type, e.recorded_at, e.actor, m.entity_id,
			b.address IS NULL AS erased, CASE WHEN b.address IS NOT NULL THEN list_sort(json_keys(decode(b.bytes))) END AS fields, r.seq
		FROM (SELECT record_id, max(seq) AS seq, arg_max(entity_type, seq) AS entity_type FROM records GROUP BY record_id) r
		JOIN events e ON e.log = 'main' AND e.seq = r.seq
		LEFT JOIN (SELECT address, any_value(bytes) AS bytes FROM blobs WHERE starts_with(address, 'rec:') GROUP BY address) b ON b.address = r.record_id
		LEFT JOIN v_membership m ON m.record_id = r.record_id`,
	`COMMENT ON VIEW v_record IS 'stored records by address and field names; values stay in the table blobs'`,
	`COMMENT ON COLUMN v_record.erased IS 'the values were erased; the address stays'`,

	`CREATE VIEW v_operator AS SELECT split_part(substr(e.subject, 6), '|', 1) AS record_a, split_part(substr(e.subject, 6), '|', 2) AS record_b,
			json_extract_string(e.body, '$.verdict') AS verdict, json_extract_string(e.body, '$.reason') AS reason, e.actor, e.recorded_at, e.id AS event_id, e.seq
		FROM events e
		WHERE e.kind = 'operator.decided' AND NOT EXISTS (SELECT 1 FROM events s WHERE s.supersedes = e.id AND s.kind = 'operator.decided')
			AND json_extract_string(e.body, '$.verdict') <> 'undone'`,
	`COMMENT ON VIEW v_operator IS 'what people decided of a pair and nobody has undone; it outranks the engine'`,

	`CREATE VIEW v_decision AS SELECT d.decision_id, d.record_a, d.record_b, r.entity_type, d.verb, d.identity, d.action, d.score,
			json_extract_string(e.body, '$.explanation') AS explanation, json_extract(e.body, '$.factors') AS factors,
			json_extract(e.body, '$.evidence') AS evidence, json_extract(e.body, '$.pins') AS pins,
			json_extract_string(e.body, '$.pins.engine') AS engine, d.links, d.withheld, s.decision_id IS NULL AND s.event_id IS NULL AS live,
			CASE WHEN p.decision_id <> d.decision_id THEN p.decision_id END AS supersedes,
			CASE WHEN s.decision_id <> d.decision_id THEN s.decision_id END AS superseded_by,
			o.verdict AS operator_verdict, d.run_id, e.actor, d.recorded_at, d.event_id, d.seq
		FROM decisions d
		JOIN events e ON e.log = 'main' AND e.seq = d.seq
		LEFT JOIN (SELECT record_id, arg_max(entity_type, seq) AS entity_type FROM records GROUP BY record_id) r ON r.record_id = d.record_a
		LEFT JOIN decisions s ON s.supersedes = d.event_id
		LEFT JOIN decisions p ON p.event_id = d.supersedes
		LEFT JOIN v_operator o ON o.record_a = least(d.record_a, d.record_b) AND o.record_b = greatest(d.record_a, d.record_b)`,
	`COMMENT ON VIEW v_decision IS 'every decision about a pair of records, superseded ones too'`,
	`COMMENT ON COLUMN v_decision.decision_id IS 'public id; covers evidence and pins, not the records, so two pairs may share one'`,
	`COMMENT ON COLUMN v_decision.live IS 'no later decision supersedes it'`,
	`COMMENT ON COLUMN v_decision.links IS 'it holds its two records together while it is live'`,
	`COMMENT ON COLUMN v_decision.withheld IS 'why a match does not link: ambiguous or conflict'`,
	`COMMENT ON COLUMN v_decision.operator_verdict IS 'what a person decided of the pair instead'`,
	`COMMENT ON COLUMN v_decision.pins IS 'engine, tables and thresholds that it was made under'`,

	`CREATE VIEW v_case AS SELECT decision_id, record_a, record_b, entity_type, score, explanation, factors, actor, recorded_at, seq
		FROM v_decision WHERE live AND (identity = 'review' AND operator_verdict IS NULL OR operator_verdict = 'review')`,
	`COMMENT ON VIEW v_case IS 'open questions: pairs at review that neither evidence nor a person has settled'`,

	`CREATE VIEW v_entity AS SELECT entity_id, any_value(entity_type) AS entity_type, count(*) AS size,
			list(record_id ORDER BY since_seq, record_id) AS records, max(since_seq) AS changed_seq
		FROM v_membership GROUP BY entity_id`,
	`COMMENT ON VIEW v_entity IS 'what live decisions hold together now, with its records'`,

	`CREATE VIEW v_document AS SELECT substr(e.subject, 5) AS path, json_extract_string(e.body, '$.type') AS type,
			json_extract_string(e.body, '$.status') AS status, json_extract(e.body, '$.tags') AS tags, json_extract_string(e.body, '$.address') AS address,
			(json_extract(e.body, '$.size'))::BIGINT AS size, e.actor, e.recorded_at AS written_at, e.id AS event_id, e.seq
		FROM events e WHERE e.kind = 'document.written'
			AND NOT EXISTS (SELECT 1 FROM events s WHERE s.subject = e.subject AND s.seq > e.seq AND s.kind IN ('document.written', 'document.removed'))`,
	`COMMENT ON VIEW v_document IS 'documents of the knowledge base as they stand now; their text is in the table blobs'`,

	`CREATE VIEW v_relation AS SELECT split_part(split_part(relation, ':', 1), '/', -1) AS type,
			replace(replace(split_part(ends, '|', 1), '%7C', '|'), '%25', '%') AS source,
			replace(replace(split_part(ends, '|', 2), '%7C', '|'), '%25', '%') AS target, relation, actor, added_at, event_id, seq
		FROM (SELECT substr(e.subject, 5) AS relation, substr(e.subject, 6 + length(split_part(substr(e.subject, 5), ':', 1))) AS ends,
				e.actor, e.recorded_at AS added_at, e.id AS event_id, e.seq
			FROM events e WHERE e.kind = 'relation.added'
				AND NOT EXISTS (SELECT 1 FROM events s WHERE s.subject = e.subject AND s.seq > e.seq AND s.kind = 'relation.removed'))`,
	`COMMENT ON VIEW v_relation IS 'typed relations between documents that hold now'`,

	`CREATE VIEW v_scan AS SELECT e.subject AS scan, json_extract_string(e.body, '$.statute') AS statute, json_extract_string(e.body, '$.jurisdiction') AS jurisdiction,
			json_extract_string(e.body, '$.verdict') AS verdict, json_extract(e.body, '$.counts') AS counts, json_extract(e.body, '$.denied') AS denied,
			json_extract_string(e.body, '$.input') AS input, e.actor, e.recorded_at, e.id AS event_id, e.seq
		FROM events e WHERE e.kind = 'protection.scanned'`,
	`COMMENT ON VIEW v_scan IS 'what was scanned for personal data, under which statute, with what coverage; input is a keyed digest'`,
}
