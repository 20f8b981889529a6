"use strict";

const most = 200; // items asked for at once
const byId = (id) => document.getElementById(id);
let token = "";

// ask fetches one route; a service that wants a token is given the one typed.
async function ask(path) {
  const options = token ? { headers: { Authorization: "Bearer " + token } } : {};
  const response = await fetch(path, options);
  if (response.status === 401 && !token) {
    token = prompt("This service asks for a token:") || "";
    if (token) return ask(path);
  }
  if (response.status === 401) token = "";
  const body = await response.json().catch(() => ({ detail: response.statusText }));
  if (!response.ok) throw new Error(typeof body.detail === "string" ? body.detail : "the request was refused");
  return body;
}

// el makes an element; text is only ever text.
function el(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined && text !== null) e.textContent = String(text);
  if (className) e.className = className;
  return e;
}

function tags(list) {
  const span = el("span");
  if (!list || list.length === 0) span.textContent = "–";
  for (const item of list || []) span.append(el("span", typeof item === "string" ? item : item.label || item.field || JSON.stringify(item), "tag"));
  return span;
}

function pairs(rows) {
  const dl = el("dl");
  for (const [key, value] of rows) {
    const dd = el("dd");
    dd.append(value instanceof Node ? value : document.createTextNode(value === null || value === undefined ? "–" : String(value)));
    dl.append(el("dt", key), dd);
  }
  return dl;
}

function decisionLink(id) {
  const b = el("button", id, "link");
  b.addEventListener("click", () => showDecision(id));
  return b;
}

async function guarded(work) {
  byId("note").textContent = "";
  try {
    await work();
  } catch (err) {
    byId("note").textContent = err.message;
  }
}

function press(name) {
  for (const other of ["entities", "cases"]) byId("show-" + other).setAttribute("aria-pressed", String(other === name));
}

// showList shows a list from its start; a button asks for what follows.
const showList = (name, one, many, card) => guarded(async () => {
  press(name);
  const list = byId("list");
  const head = el("h2");
  const more = el("button", "Show more");
  let shown = 0;
  const next = async () => {
    const answer = await ask(name + "?limit=" + most + "&offset=" + shown);
    shown += answer.returned;
    head.textContent = answer.count + " " + (answer.count === 1 ? one : many) + (answer.truncated ? ", the first " + shown + " shown" : "");
    for (const item of answer[name]) {
      const article = el("article");
      article.append(pairs(card(item)));
      more.before(article);
    }
    more.hidden = !answer.truncated;
  };
  more.addEventListener("click", () => guarded(next));
  list.replaceChildren(head, more);
  await next();
});

const showEntities = () => showList("entities", "entity", "entities", (e) => [
  ["records", tags(e.records)], ["type", e.entity_type], ["held together", e.held_together_by],
  ["shared", tags(e.shared_fields)], ["conflicting", tags(e.conflicting_fields)],
  ["weak links", tags((e.weak_links || []).map((w) => w.label || w.record_id || JSON.stringify(w)))],
  ["decisions", e.decisions], ["id", e.entity_id],
]);

const showCases = () => showList("cases", "open case", "open cases", (c) => [
  ["pair", c.a.label + " ↔ " + c.b.label], ["score", c.score.toFixed(4)], ["would settle it", tags(c.would_resolve)],
  ["for", tags(c.supporting)], ["against", tags(c.refuting)], ["decision", decisionLink(c.decision_id)],
]);

const showDecision = (id) => guarded(async () => {
  const at = encodeURIComponent(id);
  const [decision, why] = await Promise.all([ask("decision/" + at), ask("explain/" + at)]);
  const detail = byId("detail");
  detail.replaceChildren(el("h2", decision.identity + " · " + decision.action));
  const again = el("button", "Replay");
  again.addEventListener("click", () => guarded(async () => {
    const r = await ask("replay/" + at);
    again.replaceWith(el("p", r.reproduced ? "Reproduced: the same decision comes out today." : "Not reproduced: " + JSON.stringify(r.changed)));
  }));
  const card = el("article");
  card.append(pairs([
    ["decision", decision.decision_id], ["records", tags(decision.records)], ["score", decision.score.toFixed(4)],
    ["explanation", decision.explanation], ["for", tags(why.supporting)], ["against", tags(why.refuting)],
    ["missing", tags(why.missing)], ["same value in both", tags(why.shared)], ["entity", decision.entity_id],
    ["recorded", decision.recorded_at],
    ["supersedes", decision.supersedes ? decisionLink(decision.supersedes) : null],
    ["superseded by", decision.superseded_by ? decisionLink(decision.superseded_by) : null],
  ]), again);
  detail.append(card);
  detail.hidden = false;
  detail.scrollIntoView({ block: "nearest" });
});

byId("show-entities").addEventListener("click", showEntities);
byId("show-cases").addEventListener("click", showCases);
byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = byId("decision").value.trim();
  if (id) showDecision(id);
});
showEntities();
