// The page of kokctl's operator. What comes from hosts and objects becomes text nodes alone: nothing of it is ever read as HTML.
"use strict";

const $ = (id) => document.getElementById(id);
const rows = new Map();
// What somebody looks at: a cluster, one of its operations, and a run of that which is not the last.
let chosen = null, operation = null, run = null;
// What is known of it: the cluster, the run as it was read, and why it could not be read.
let detail = null, shownRun = "", why = "";
// How often nothing was read one time after the other, and the number of the reading that counts.
let misses = 0, asked = 0;
// The connection: which version of the page the operator has, since when nobody answers, when something came last, and how long ago the operator heard of its API server.
let source = null, build = null, since = null, last = Date.now(), heard = null;

/** An element; texts among its children become text nodes. */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== "").map((child) => child instanceof Node ? child : String(child)));
  return made;
}

// Whoever walks by keyboard stays where they are, if what they are at is still there.
const fill = (id, ...children) => {
  const at = $(id).contains(document.activeElement) && document.activeElement.getAttribute("href");
  $(id).replaceChildren(...children.flat(2).filter((child) => child));
  if (at) $(id).querySelector(`a[href="${CSS.escape(at)}"]`)?.focus({ preventScroll: true });
};
const count = (number, one, many) => `${number} ${number === 1 ? one : many || one + "s"}`;
const seconds = (ms) => ms < 100000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.round(ms % 60000 / 1000)} s`;
const when = (text) => text ? new Date(text).toLocaleString() : "";
const tone = (phase) => ({ Ready: "good", Succeeded: "good", Degraded: "bad", Failed: "bad", Missing: "bad", Cancelled: "warn", AwaitingApproval: "warn",
  Deleting: "warn", Resuming: "warn", Cancelling: "warn", Suspended: "warn", Provisioning: "busy", Running: "busy", Planning: "busy" })[phase] || "soft";
const word = (phase) => el("span", { class: tone(phase) }, phase || "Pending");

/** `#/GROUP/CLUSTER[/OPERATION]`. */
function route() {
  const [group, name, named] = location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
  const id = group && name ? `${group}/${name}` : null;
  const isOther = id !== chosen;
  [chosen, operation, run, shownRun, why, misses] = [id, named || null, null, "", "", 0];
  if (isOther) detail = null;
  if (isOther || !source) connect(); else draw();
  if (operation) ask();
}

const link = (id, ...more) => "#/" + [...id.split("/"), ...more].map(encodeURIComponent).join("/");

function connect() {
  if (source) source.close();
  source = new EventSource("/events" + (chosen ? "?cluster=" + encodeURIComponent(chosen) : ""));
  const mine = source;
  source.onmessage = (message) => mine === source && take(JSON.parse(message.data));
  source.onerror = () => {
    if (mine !== source) return;
    since = since || new Date();
    tell();
    // What was refused is not tried again by the browser itself.
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => mine === source && connect(), 2000);
  };
}

function tell() {
  const deaf = heard === null ? "the operator has not heard of its API server yet" : heard > 60 ? `the operator has not heard of its API server for ${heard} s` : "";
  $("link").className = since || deaf ? "off" : "on";
  $("link").textContent = since ? `not connected since ${since.toLocaleTimeString()}; trying again` : deaf || "live";
}

// The operator says something each 15 seconds. A connection over which nothing comes any more ends by itself only hours later.
setInterval(() => {
  if (Date.now() - last < 45000) return;
  last = Date.now();
  since = since || new Date();
  tell();
  connect();
}, 5000);

function take(news) {
  if (news.build) {
    // Another version of the operator has another page.
    if (build && build !== news.build) return location.reload();
    build = news.build;
    rows.clear();
    $("replica").textContent = `as ${news.replica} sees it`;
    // Who had given up asks again.
    misses = 0;
    if (operation) ask();
  }
  [since, heard, last] = [null, news.heard, Date.now()];
  tell();
  for (const row of news.rows || []) rows.set(row.id, row);
  for (const id of news.gone || []) rows.delete(id);
  if ("cluster" in news) detail = news.cluster;
  if ((news.gone || []).includes(chosen)) detail = null;
  if (news.rows) drawClusters();
  // What somebody is reading stays as it is while others change.
  if ("cluster" in news || (news.gone || []).includes(chosen) || (news.rows && !chosen)) drawDetail();
}

function draw() {
  drawClusters();
  drawDetail();
}

function drawDetail() {
  if (!chosen) fill("detail", welcome());
  else if (operation) drawRun();
  else fill("detail", cluster());
}

function welcome() {
  const said = rows.size ? "Choose a cluster." : heard === null ? "…" : "There is no Cluster yet: `kubectl apply` one, and an operation for it.";
  return el("p", { class: "soft" }, said);
}

// Milliseconds between two readings of a run, and how many may find nothing one after the other: two minutes.
const PAUSE = 3000, MISSES = 40;

const WORST = ["Degraded", "Missing", "Deleting", "Provisioning", "Pending"];
const rank = (row) => WORST.includes(row.phase) ? WORST.indexOf(row.phase) : WORST.length;

function drawClusters() {
  const wanted = $("filter").value.trim().toLowerCase();
  const all = [...rows.values()].filter((row) => `${row.id} ${row.phase} ${row.version || ""}`.toLowerCase().includes(wanted));
  all.sort((one, other) => rank(one) - rank(other) || one.id.localeCompare(other.id));
  const groups = new Set([...rows.values()].map((row) => row.group));
  fill("clusters", all.slice(0, 300).map((row) => el("a", { class: "cluster" + (row.id === chosen ? " chosen" : ""), href: link(row.id), "data-cluster": row.id },
    el("b", null, row.name), word(row.phase), groups.size > 1 ? el("span", { class: "soft" }, ` ${row.group}`) : null,
    el("div", { class: "soft" }, [row.version, row.hosts && `${row.hosts} hosts`].filter(Boolean).join(" · ")),
    row.now ? el("div", null, `${row.now.action || ""} ${row.now.phase || "Pending"}`, row.now.percent !== null && row.now.percent !== undefined ? ` ${row.now.percent} %` : "") : null,
    row.message ? el("div", { class: "bad" }, row.message) : null)),
    all.length > 300 ? el("p", { class: "soft" }, `and ${all.length - 300} more: filter them`) : null);
}

function cluster() {
  if (!detail) return el("p", { class: "soft" }, source && !since && build ? `There is no cluster ${chosen}.` : "…");
  const live = (detail.now && detail.now.hosts) || [], known = detail.hosts || [];
  // Keys that are to be compared stand at the Cluster, before a run knows of any host.
  const hosts = !live.length || known.some((of) => of.offeredHostKey) ? known : live;
  return [
    el("h2", null, chosen.split("/")[1], " ", word(detail.phase), detail.suspended ? el("span", { class: "warn" }, " suspended") : null),
    facts(), failure(detail.lastError), conditions(detail.clusterConditions),
    now(detail.now),
    hosts.length ? [el("h3", null, "Hosts"), el("div", { class: "hosts" }, hosts.map(host))] : null,
    el("h3", null, "Operations"), operations(),
  ].flat().filter(Boolean);
}

function facts() {
  const { hostSummary: hosts, certificates, drift, hostKeys } = detail;
  const all = [
    hosts && hosts.text && `${hosts.text} hosts are ready`,
    certificates && certificates.earliestEnd && `the first certificate ends ${when(certificates.earliestEnd)}`,
    drift && drift.changes !== undefined && (drift.changes ? `${count(drift.changes, "step")} away from its description: ${(drift.steps || []).join(", ")}` : `as it is described, seen ${when(drift.checkedAt)}`),
    hostKeys && hostKeys.unknown ? `${count(hostKeys.unknown, "host key")} to be compared and trusted` : null,
  ];
  return all.filter(Boolean).map((text) => el("div", null, text));
}

function failure(error) {
  if (!error) return null;
  return el("div", { class: "box bad" }, el("b", { class: "bad" }, error.what || "it failed"),
    error.at ? el("div", { class: "soft" }, `at ${error.at}`) : null, error.because ? el("div", null, error.because) : null,
    error.hint ? el("div", null, `→ ${error.hint}`) : null);
}

const WRONG = { Ready: "False", InputsReady: "False", HostKeysTrusted: "False", KubeconfigKept: "False", StateKept: "False", Accepted: "False", Approved: "False",
  Drifted: "True", HeldByAnother: "True", Stalled: "True" };

function conditions(all) {
  const wrong = (all || []).filter((condition) => WRONG[condition.type] === condition.status && (condition.message || condition.reason));
  return wrong.length ? el("table", null, wrong.map((condition) => el("tr", null, el("td", { class: "warn" }, condition.type),
    el("td", null, condition.message || condition.reason), el("td", { class: "soft" }, when(condition.lastTransitionTime))))) : null;
}

function now(live) {
  if (!live) return null;
  const progress = live.progress || {};
  return el("div", { class: "box", id: "now" },
    el("div", null, el("a", { href: link(chosen, live.name) }, live.name), ` ${live.action || ""} `, word(live.phase),
      live.attempt > 1 ? el("span", { class: "warn" }, ` attempt ${live.attempt}`) : null),
    live.plan && live.plan.text ? el("div", { class: "soft" }, live.plan.text) : null,
    progress.total ? [el("progress", { max: progress.total, value: progress.done }),
      el("div", { id: "progress", "data-done": progress.done }, `${progress.done} of ${progress.total} done`,
        progress.failed ? el("span", { class: "bad" }, `, ${progress.failed} failed`) : null, progress.blocked ? `, ${progress.blocked} not begun` : null)] : null,
    (progress.now || []).map((step) => el("div", { class: "soft" }, step)), conditions((live.conditions || []).filter((condition) => condition.type !== "Ready")), failure(live.lastError));
}

function host(of) {
  const state = of.state || "";
  return el("div", { class: "host " + state.replace(/[^A-Za-z]/g, "") }, el("b", null, of.name), " ", el("span", { class: "soft" }, state),
    of.total ? ` ${of.done}/${of.total}` : null, of.now ? el("div", { class: "soft" }, of.now) : null,
    of.message ? el("div", { class: "bad" }, of.message) : null, of.offeredHostKey ? el("div", null, of.offeredHostKey) : null);
}

function operations() {
  const all = detail.operations || [];
  if (!all.length) return el("p", { class: "soft" }, "There was none yet.");
  return [el("table", null, el("tr", null, ["Operation", "Action", "Phase", "Began", "Took"].map((text) => el("th", null, text))), all.map((of) => el("tr", null,
    el("td", null, el("a", { href: link(chosen, of.name) }, of.name), of.because ? el("span", { class: "soft" }, ` for ${of.because}`) : null),
    el("td", null, of.action || ""), el("td", null, word(of.phase)), el("td", { class: "soft" }, when(of.startTime)),
    el("td", { class: "soft" }, of.startTime && of.endTime ? seconds(new Date(of.endTime) - new Date(of.startTime)) : "")))),
  detail.moreOperations ? el("p", { class: "soft" }, `and ${detail.moreOperations} older ones`) : null];
}

/** Reads what a run did, and again while it goes on: of one that has ended nothing changes any more, but for what was written down of it a moment later. */
async function ask() {
  const [of, number] = [operation, ++asked];
  const group = chosen.split("/")[0];
  const query = new URLSearchParams({ group, operation: of });
  if (run) query.set("run", run);
  let found = null, wrong = "";
  try {
    const answer = await fetch("/run?" + query);
    const said = await answer.json();
    if (answer.ok) found = said; else wrong = said.why;
  } catch (error) {
    wrong = "the operator does not answer";
  }
  if (number !== asked || of !== operation) return;
  [why, misses] = [wrong, found && found.record ? 0 : misses + 1];
  if (found) shownRun = JSON.stringify(found);
  drawRun();
  const goesOn = found && !found.over, mayCome = !(found && found.record) && misses < MISSES;
  if (goesOn || mayCome) setTimeout(() => number === asked && of === operation && ask(), PAUSE);
}

const ENDINGS = { done: ["good", "done"], "nothing-to-do": ["good", "there was nothing to do"], incomplete: ["bad", "incomplete"], refused: ["bad", "refused"],
  "at-work": ["busy", "at work"], died: ["bad", "its process died"] };

let drawn = null;
function drawRun() {
  const [found, live] = [shownRun ? JSON.parse(shownRun) : null, detail && detail.now && detail.now.name === operation ? detail.now : null];
  // What somebody reads, or has marked, stays as it is until there is something else.
  const same = drawn && drawn.operation === operation && drawn.run === shownRun && $("run-body");
  drawn = { operation, run: shownRun };
  const head = el("div", { id: "run-head" }, el("p", null, el("a", { href: link(chosen) }, `← ${chosen.split("/")[1]}`)),
    el("h2", null, operation, " ", found ? [found.action || "", " ", word(found.phase)] : "…"), now(live), why ? el("p", { class: "bad" }, why) : null, live ? null : failure(found && found.lastError));
  if (same) $("run-head").replaceWith(head);
  else {
    const open = [...document.querySelectorAll("#run-body details[open]")].map((of) => of.dataset.name);
    fill("detail", head, el("div", { id: "run-body" }, found ? body(found) : null));
    for (const of of document.querySelectorAll("#run-body details")) of.open = open.includes(of.dataset.name);
  }
}

function body(found) {
  const record = found.record;
  const others = found.runs.filter((name) => !record || name !== record.run);
  const more = others.length ? el("p", { class: "soft" }, "other runs: ", others.map((name) => {
    const button = el("button", null, name);
    button.onclick = () => { run = name; ask(); };
    return [button, " "];
  })) : null;
  if (!record) return [found.why ? el("p", { class: "soft" }, found.why) : null, more];
  const [style, ending] = ENDINGS[record.ending] || ["soft", record.ending];
  return [
    el("p", null, el("span", { class: style }, ending), record.stopped ? `: ${record.stopped}` : null, ` · run ${record.run} · ${record.verb}${record.part ? " " + record.part : ""} · ${seconds(record.took)} · began ${when(record.time)}`),
    more,
    record.refused.map(failure),
    record.failed.map((step) => el("div", { class: "box bad", "data-failed": step.step }, el("b", { class: "bad" }, `${step.step}: ${step.title || step.summary}`),
      step.unknown ? el("div", { class: "warn" }, "it is not known whether it was done: the next run looks") : null,
      step.error ? el("pre", null, step.error) : null, step.said ? el("pre", null, step.said) : null)),
    record.moreFailed ? el("p", { class: "bad" }, `and ${count(record.moreFailed, "more step")} that failed`) : null,
    record.leftOut[0] + record.leftOut[1] ? el("p", { class: "warn" }, `not listed, for its journal was too long: ${record.leftOut[0]} steps that were done, ${record.leftOut[1]} that were not begun`) : null,
    record.unknown ? el("p", { class: "warn" }, `${count(record.unknown, "event")} of kinds that this version does not know`) : null,
    timeline(record), path(record), steps(record),
  ];
}

const LANES = { "#": "s", "=": "t", "~": "w", ".": "" };

function timeline(record) {
  if (!record.hosts.length) return null;
  const lane = (picture) => el("div", { class: "lane" }, picture.match(/(.)\1*/g).map((part) => {
    const made = el("i", { class: LANES[part[0]] || null });
    made.style.flexGrow = part.length;
    return made;
  }));
  return [el("h3", null, "Where the time went"),
    el("p", { class: "soft key" }, record.marks.map(([what, took]) => `${what} ${seconds(took)} · `), el("i", { class: "s" }), "script", el("i", { class: "t" }), "stream", el("i", { class: "w" }), "waiting"),
    el("div", { class: "time", id: "timeline" }, record.hosts.map((of) => [el("span", null, of.name), lane(of.picture)])),
    record.moreHosts ? el("p", { class: "soft" }, `and ${count(record.moreHosts, "host")} done earlier`) : null];
}

function path(record) {
  if (!record.path.length) return null;
  return el("details", { "data-name": "path" }, el("summary", null, "The chain of steps that made it as long as it was"), el("table", null,
    record.path.map(([step, began, took]) => el("tr", null, el("td", null, step), el("td", { class: "soft" }, seconds(began)), el("td", null, seconds(took))))));
}

const FATES = { done: "good", failed: "bad", begun: "busy", waiting: "soft" };

function steps(record) {
  if (!record.steps.length) return null;
  return el("details", { "data-name": "steps" }, el("summary", null, count(record.steps.length + record.moreSteps, "step")), el("table", { id: "steps" },
    record.steps.map(([step, summary, began, ended, fate]) => el("tr", null, el("td", { class: FATES[fate] }, fate), el("td", null, step, el("div", { class: "soft" }, summary)),
      el("td", { class: "soft" }, began === null ? "" : seconds(began)), el("td", null, began !== null && ended !== null ? seconds(ended - began) : "")))),
  record.moreSteps ? el("p", { class: "soft" }, `and ${record.moreSteps} more: \`kokctl run show --operation ${operation}\``) : null);
}

addEventListener("hashchange", route);
$("filter").addEventListener("input", drawClusters);
route();
