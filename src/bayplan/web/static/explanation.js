// The answer of `bayplan explain`, drawn: why here, why not elsewhere, who would have to go.

import { element } from "./dom.js";
import { counted, naturally } from "./format.js";

const NODES_SHOWN = 4;
const CANDIDATES_SHOWN = 6;
const WHEN = { now: "now", nominated: "when it was nominated", bound: "when it was bound", then: "at this point in time" };

/** Elements for the document of an explanation; ask(version) is called for another moment. */
export function explanationParts(answer, pod, ask) {
  return [
    momentSwitch(answer, ask),
    verdict(answer),
    ...answer.remarks.map((remark) => element("p.remark", {}, remark)),
    ...(answer.best.length ? [] : causeParts(answer)),
    ...preemptionParts(answer),
    ...scoreParts(answer, pod),
    ...(answer.best.length ? causeParts(answer) : []),
  ];
}

function momentSwitch(answer, ask) {
  const moments = [...answer.moments, { what: "now", version: "now" }];
  const isShown = (moment) => moment.what === answer.moment.what && (moment.what === "now" || moment.version === answer.moment.version);
  const buttons = moments.map((moment) =>
    element("button", { type: "button", "aria-pressed": String(isShown(moment)), onclick: () => ask(moment.version) },
      moment.what === "now" ? "Now" : `When ${moment.what}`),
  );
  return element("div.moments", { role: "group", "aria-label": "Which moment is explained" }, buttons);
}

function verdict(answer) {
  const when = WHEN[answer.moment.what];
  const total = answer.feasible.length + Object.keys(answer.filter).length;
  if (answer.best.length) {
    const ties = answer.best.length > 1 ? `, one of ${answer.best.length} equally good` : "";
    const best = answer.moment.node || answer.best[0];
    const rest = total > 1 ? ` It fits on ${answer.feasible.length} of ${counted(total, "node")}.` : "";
    return element("p.verdict.good", {}, element("strong", {}, `${best} is best`), `${ties}, ${when}.${rest}`);
  }
  const [node] = answer.preemption?.selected ?? [];
  const head = node ? `Fits only by evicting others: ${node}` : "Fits nowhere";
  return element("p.verdict.bad", {}, element("strong", {}, head), `, ${when}. ${answer.message ?? ""}`);
}

// Who would have to go.

function preemptionParts(answer) {
  const found = answer.preemption;
  if (!found) return [];
  const parts = [element("h3", {}, "Which pods would be evicted")];
  if (!found.eligible) return [...parts, element("p", {}, `None for now: ${found.ineligibleReason}`)];
  const [node] = found.selected;
  if (!node) return [...parts, element("p", {}, "None: evicting lower-priority pods would not help on any node.")];
  const chosen = found.record.candidates.find((candidate) => candidate.node === node);
  parts.push(victimList(chosen), element("p", {}, answer.choice));
  if (chosen.reprieves.length > 1) parts.push(reprieves(chosen));
  if (found.record.candidates.length > 1) parts.push(candidates(found.record, node));
  return parts;
}

function victimList(candidate) {
  const items = candidate.victims.map((victim) =>
    element("li", {},
      element("button.link", { type: "button", data: { pod: victim.pod } }, victim.pod),
      element("span.about", {}, ` priority ${victim.priority.toLocaleString("en")}`),
      victim.breaks.length ? element("span.problem", {}, ` violates ${victim.breaks.join(", ")}`) : null),
  );
  return element("ul.victims", { "aria-label": `Victims on ${candidate.node}` }, items);
}

function reprieves(candidate) {
  const rows = candidate.reprieves.map((tried) =>
    element("tr", {},
      element("th", { scope: "row" }, tried.pod),
      element("td.number", {}, tried.priority.toLocaleString("en")),
      element("td", {}, tried.kept ? "stays" : `goes: ${tried.reasons.join(", ")}`)),
  );
  const text = `All ${counted(rows.length, "pod")} of lower priority on ${candidate.node} were removed, then put back one at a time as long as the pod still fits:`;
  return element("details", {}, element("summary", {}, `What was tried on ${candidate.node}`), element("p", {}, text),
    element("div.wide", {}, element("table", {}, element("tbody", {}, rows))));
}

function candidates(record, chosen) {
  const lostBy = new Map();
  for (const step of record.choice) {
    for (const node of Object.keys(step.values)) if (!step.kept.includes(node)) lostBy.set(node, step.criterion);
  }
  const shown = [...record.candidates].sort((one, other) => (other.node === chosen) - (one.node === chosen) || naturally(one.node, other.node));
  const rows = shown.slice(0, CANDIDATES_SHOWN).map((candidate) =>
    element("tr", { class: candidate.node === chosen ? "chosen" : null },
      element("th", { scope: "row" }, candidate.node),
      element("td.number", {}, String(candidate.victims.length)),
      element("td.number", {}, Math.max(...candidate.victims.map(({ priority }) => priority)).toLocaleString("en")),
      element("td.number", {}, String(candidate.numPDBViolations)),
      element("td", {}, candidate.node === chosen ? "chosen" : lostBy.get(candidate.node) ?? "equally cheap")),
  );
  const head = ["Node", "Victims", "Highest priority", "Budgets violated", ""].map((text) => element("th", { scope: "col" }, text));
  return element("details", {}, element("summary", {}, `${counted(record.candidates.length, "candidate")} compared`),
    element("div.wide", {}, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows))));
}

// Scores by plugin.

function scoreParts(answer, pod) {
  const nodes = Object.keys(answer.totals).sort((one, other) => answer.totals[other] - answer.totals[one] || naturally(one, other));
  if (!nodes.length) return [];
  const own = answer.moment.node || pod.node;
  const shown = [...new Set([...nodes.filter((node) => node === own), ...nodes])].slice(0, NODES_SHOWN);
  const plugins = Object.keys(answer.scores[shown[0]]);
  const head = [element("td"), ...shown.map((node) => element("th", { scope: "col", class: node === own ? "chosen" : null }, node))];
  const rows = plugins.map((plugin) => scoreRow(plugin, shown.map((node) => answer.scores[node][plugin]), shown, own));
  rows.push(scoreRow("Total", shown.map((node) => answer.totals[node]), shown, own, "total"));
  const rest = nodes.length - shown.length;
  const table = element("table.scores", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows));
  return [
    element("h3", {}, "Scores by plugin"),
    element("div.wide", { tabindex: "0", role: "region", "aria-label": "Scores by plugin" }, table),
    rest > 0 ? element("p.about", {}, `and ${counted(rest, "more node")} with lower totals`) : null,
  ].filter(Boolean);
}

function scoreRow(name, values, nodes, own, style = null) {
  const cells = values.map((value, index) => element("td.number", { class: nodes[index] === own ? "number chosen" : null }, value.toLocaleString("en")));
  return element("tr", { class: style }, element("th", { scope: "row" }, name), cells);
}

// Why not elsewhere.

function causeParts(answer) {
  if (!answer.causes.length) return [];
  const heading = element("h3", {}, answer.best.length ? "Why not elsewhere" : "Why it does not fit");
  return [heading, element("ul.reasons", {}, answer.causes.map(causeItem))];
}

function causeItem({ count, cause, plugin, reasons, nodes, deviceRequests = [] }) {
  const names = [...nodes].sort(naturally);
  const some = names.slice(0, NODES_SHOWN).join(", ") + (names.length > NODES_SHOWN ? ` and ${names.length - NODES_SHOWN} more` : "");
  return element("li", {},
    element("p.cause", {}, element("strong", {}, counted(count, "node")), `: ${cause}`),
    element("span.about", {}, some),
    element("span.about", {}, `${plugin}: ${reasons.join(", ")}`),
    deviceRequests.filter(({ obstacles }) => obstacles.length).map(deviceDetails));
}

/** Every device that the closest node could not give, with the whole text of selectors. */
function deviceDetails({ node, request, obstacles }) {
  const rows = obstacles.map(({ reason, devices, usedBy }) =>
    element("tr", {}, element("th", { scope: "row" }, devices.join(", ")), element("td", {}, usedBy ? `${reason} by ${usedBy.join(", ")}` : reason)),
  );
  return element("details", {}, element("summary", {}, `Devices of ${node} for request ${request}`),
    element("div.wide", {}, element("table", {}, element("tbody", {}, rows))));
}
