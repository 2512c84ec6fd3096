// The answer of `bayplan explain`, drawn from the parts that the server sends: every sentence is the server's.

/** @typedef {{text: string, tone: string}} Cell */
/** @typedef {{title: string, numeric: boolean}} Column */
/** @typedef {{part: "table", columns: Column[], rows: Cell[][]}} Table */
/**
 * A part of an answer, as `report/answers/plain.py` writes it.
 * @typedef {{part: "sentence", text: string, tone: string}
 *   | {part: "heading" | "code", text: string}
 *   | Table
 *   | {part: "bars", rows: {label: string, text: string, share: number}[]}
 *   | {part: "next", command: string}
 *   | {part: "details", parts: Part[]}} Part
 */
/** @typedef {{what: string, version: number | "now"}} Moment */
/** @typedef {{parts: Part[], pods: string[], moment: Moment, moments: Moment[]}} Answer */
/** @typedef {(version: string) => unknown} Ask */

import { element } from "./dom.js";

/**
 * Elements for an explanation; ask(version) is called for another moment.
 * @param {Answer} answer
 * @param {Ask} ask
 */
export function explanationParts(answer, ask) {
  return [momentSwitch(answer, ask), ...drawnParts(answer.parts, new Set(answer.pods))];
}

/**
 * @param {Answer} answer
 * @param {Ask} ask
 */
function momentSwitch({ moment: shown, moments }, ask) {
  /** @type {Moment[]} */
  const all = [...moments, { what: "now", version: "now" }];
  const buttons = all.map(({ what, version }) => {
    const isShown = what === shown.what && (what === "now" || version === shown.version);
    const facts = { type: "button", "aria-pressed": String(isShown), onclick: () => ask(String(version)) };
    return element("button", facts, what === "now" ? "Now" : `When ${what}`);
  });
  return element("div.moments", { role: "group", "aria-label": "Which moment is explained" }, buttons);
}

/**
 * The first sentence is the answer; cells that name one of the pods open its panel.
 * @param {Part[]} parts
 * @param {Set<string>} pods
 */
export function drawnParts(parts, pods) {
  return parts
    .filter((part) => !("text" in part) || part.text !== "")
    .map((part, index) => drawn(part, pods, index === 0));
}

/**
 * @param {Part} part
 * @param {Set<string>} pods
 * @param {boolean} isAnswer
 * @returns {HTMLElement}
 */
function drawn(part, pods, isAnswer) {
  switch (part.part) {
    case "sentence":
      return element(isAnswer ? `p.verdict.${part.tone}` : `p.${part.tone}`, {}, part.text);
    case "heading":
      return element("h3", {}, part.text);
    case "table":
      return table(part, pods);
    case "bars":
      return element("ul.bars", {}, part.rows.map(bar));
    case "code":
      return element("pre", {}, part.text);
    case "next":
      return element("p.about", {}, "Next: ", element("code", {}, part.command));
    case "details": {
      const inner = part.parts.map((one) => drawn(one, pods, false));
      return element("details", { open: true }, element("summary", {}, "Details"), inner);
    }
  }
}

/** @param {{label: string, text: string, share: number}} row */
function bar({ label, text, share }) {
  const meter = element("meter", { min: 0, max: 1, value: share, "aria-hidden": "true" });
  return element("li", {}, label, meter, text);
}

/**
 * @param {Table} part
 * @param {Set<string>} pods
 */
function table({ columns, rows }, pods) {
  const style = columns.map(({ numeric }) => (numeric ? "number" : ""));
  const head = columns.map(({ title }, place) =>
    element("th", { scope: "col", class: style[place] || null }, lines(title)),
  );
  const body = rows.map((row) => {
    const cells = row.map(({ text, tone }, place) => {
      const kind = [style[place], tone].filter(Boolean).join(" ");
      return element("td", { class: kind }, pods.has(text) ? link(text) : lines(text));
    });
    return element("tr", {}, cells);
  });
  const made = element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body));
  const label = columns.map(({ title }) => title.replaceAll("\n", " ")).join(", ");
  return element("div.wide", { tabindex: "0", role: "region", "aria-label": label }, made);
}

/** @param {string} pod */
const link = (pod) => element("button.link", { type: "button", data: { pod } }, pod);

/** @param {string} text */
const lines = (text) => text.split("\n").flatMap((line, place) => (place ? [element("br"), line] : [line]));
