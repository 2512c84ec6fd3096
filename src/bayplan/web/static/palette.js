// Colors that stay: a class, or a namespace, has the same color whatever else comes, after a reload and in every browser.
// Those of priorities are ordered, from pale blue-gray over blue to orange; the colors themselves are in colors.css.

/** @import { Model, Pod } from "./model.js" */
/** @typedef {"priority" | "namespace"} Coloring */
/** @typedef {{style: string, text: string}} LegendEntry */
/** @typedef {{styleOf: (pod: Pod) => string, legend: LegendEntry[], key: string}} Palette */

import { counted, digits } from "./format.js";
import { priorityOf } from "./model.js";

const SYSTEM_FROM = 2_000_000_000;
const PRIORITY_STEPS = 9;
const NAMESPACE_STEPS = 12;
const LEGEND_MAX = 14;

/**
 * @param {Model} model
 * @param {Coloring} coloring
 * @returns {Palette}
 */
export const paletteOf = (model, coloring) => (coloring === "namespace" ? byNamespace(model) : byPriority(model));

/**
 * The step of a priority by its order of magnitude: 0, below 1,000, below 10,000 …
 * @param {number} value
 */
export function stepOf(value) {
  if (value <= 0) return 0;
  return Math.min(Math.max(Math.floor(Math.log10(value)) - 1, 1), PRIORITY_STEPS - 1);
}

/**
 * A step for each name: the one it asks for or, if an older one has that, the nearest that is free.
 * @param {{name: string, wants: number, created?: string}[]} asked
 * @param {number} steps
 * @param {number[]} reserved
 * @returns {Map<string, number>}
 */
export function assign(asked, steps, reserved = []) {
  const taken = new Set(reserved);
  const found = new Map();
  const byAge = (/** @type {{created?: string, name: string}} */ { created = "", name }) => `${created} ${name}`;
  for (const { name, wants } of asked.toSorted((one, other) => (byAge(one) < byAge(other) ? -1 : 1))) {
    const step = nearestFree(wants, steps, taken);
    taken.add(step);
    found.set(name, step);
  }
  return found;
}

/**
 * @param {number} wanted
 * @param {number} steps
 * @param {Set<number>} taken
 */
function nearestFree(wanted, steps, taken) {
  for (let distance = 0; distance < steps; distance += 1) {
    for (const step of [wanted + distance, wanted - distance]) {
      if (step >= 0 && step < steps && !taken.has(step)) return step;
    }
  }
  return wanted;
}

/**
 * FNV-1a.
 * @param {string} text
 */
export function hash(text) {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0;
  return value;
}

/**
 * @param {Model} model
 * @returns {Palette}
 */
function byPriority(model) {
  const own = [...model.classes.values()].filter(({ value }) => value < SYSTEM_FROM);
  const steps = assign(
    own.map(({ name, value, created }) => ({ name, wants: stepOf(value), created })),
    PRIORITY_STEPS,
    [0],
  );
  /** @param {Pod} pod */
  const styleOf = (pod) => {
    const priority = priorityOf(pod);
    if (priority >= SYSTEM_FROM) return "p-system";
    return `p${steps.get(pod.priorityClass ?? "") ?? stepOf(priority)}`;
  };
  /** @type {{value: number, name: string, style: string}[]} */
  const entries = own.map(({ name, value }) => ({ value, name, style: `p${steps.get(name)}` }));
  for (const rank of model.ranks.keys()) {
    const [name, text] = rank.split(" ");
    const value = Number(text);
    if (value >= SYSTEM_FROM) entries.push({ value: SYSTEM_FROM, name: "system", style: "p-system" });
    else if (!steps.has(name)) entries.push({ value, name: "", style: `p${stepOf(value)}` });
  }
  const legend = grouped(entries.toSorted((one, other) => one.value - other.value)).map(({ style, members }) => ({
    style,
    text: members.map(({ name, value }) => (name === "system" ? name : `${digits(value)} ${name}`.trim())).join(", "),
  }));
  return finished(styleOf, legend);
}

/**
 * @param {Model} model
 * @returns {Palette}
 */
function byNamespace(model) {
  const spaces = [...model.namespaces.values()];
  const wanted = spaces.map(({ name, created }) => ({ name, wants: hash(name) % NAMESPACE_STEPS, created }));
  const steps = assign(wanted, NAMESPACE_STEPS);
  /** @param {string} name */
  const style = (name) => `n${steps.get(name) ?? hash(name) % NAMESPACE_STEPS}`;
  const entries = spaces.map(({ name }) => ({ style: style(name), text: name }));
  return finished(
    ({ namespace }) => style(namespace),
    entries.toSorted((one, other) => (one.text < other.text ? -1 : 1)),
  );
}

/**
 * @param {(pod: Pod) => string} styleOf
 * @param {LegendEntry[]} entries
 * @returns {Palette}
 */
function finished(styleOf, entries) {
  const legend = entries.slice(0, LEGEND_MAX);
  if (entries.length > LEGEND_MAX)
    legend.push({ style: "", text: `and ${counted(entries.length - LEGEND_MAX, "other")}` });
  return { styleOf, legend, key: JSON.stringify(entries) };
}

/**
 * Neighbors of one color together.
 * @template {{style: string, name: string, value: number}} T
 * @param {T[]} entries
 */
function grouped(entries) {
  /** @type {{style: string, members: T[]}[]} */
  const found = [];
  for (const entry of entries) {
    const last = found.at(-1);
    const isKnown = last?.members.some(({ name, value }) => name === entry.name && value === entry.value);
    if (last?.style !== entry.style) found.push({ style: entry.style, members: [entry] });
    else if (!isKnown) last.members.push(entry);
  }
  return found;
}
