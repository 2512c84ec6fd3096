// The queue at the side: who waits, for what, and until when. Pods of one owner that wait for the same stand together.

/** @import { Model, Pod, Waiting } from "./model.js" */
/** @import { Palette } from "./palette.js" */
/** @import { Filter } from "./filter.js" */

import { arrange, byId, element, setText } from "./dom.js";
import { counted, digits, requests } from "./format.js";
import { keyOf, priorityOf } from "./model.js";

const SHOWN_MAX = 100;

export class Queue {
  /** @type {Map<string, {item: HTMLElement, facts: any[]}>} */
  #items = new Map();
  /** @type {Map<string, string>} */
  #groupOf = new Map();

  /** @param {string} key */
  itemOf(key) {
    return this.#items.get(this.#groupOf.get(key) ?? "")?.item;
  }

  /**
   * @param {Model} model
   * @param {Palette} palette
   * @param {Filter} filter
   * @param {boolean} isKnown whether it is known where pods wait at this point in time
   */
  draw(model, palette, filter, isKnown) {
    const all = [...model.pending.values()];
    const pending = (filter.isActive ? all.filter((pod) => filter.hasPod(pod)) : all).sort(inQueueOrder);
    const groups = this.#grouped(pending);
    const every = digits(all.length);
    const count = pending.length === all.length ? every : `${digits(pending.length)} of ${every}`;
    for (const id of ["queue-count", "view-queue-count"]) setText(byId(id), all.length ? count : "");
    const shown = [...groups].slice(0, SHOWN_MAX);
    const items = shown.map(([name, pods]) => this.#item(name, pods, model, palette, isKnown));
    for (const name of [...this.#items.keys()]) if (!groups.has(name)) this.#items.delete(name);
    if (!items.length) items.push(element("li.empty", {}, nothing(all.length)));
    if (groups.size > SHOWN_MAX)
      items.push(element("li.empty", {}, `and ${counted(groups.size - SHOWN_MAX, "other")}`));
    arrange(byId("queue"), items);
  }

  /** @param {Pod[]} pending */
  #grouped(pending) {
    /** @type {Map<string, Pod[]>} */
    const groups = new Map();
    this.#groupOf.clear();
    for (const pod of pending) {
      const alone = !pod.owner || pod.nominated;
      const name = alone ? keyOf(pod) : `${pod.namespace} ${pod.owner} ${pod.waitsFor ?? ""} ${pod.gates ?? ""}`;
      this.#groupOf.set(keyOf(pod), name);
      const group = groups.get(name);
      if (group) group.push(pod);
      else groups.set(name, [pod]);
    }
    return groups;
  }

  /**
   * @param {string} name
   * @param {Pod[]} pods
   * @param {Model} model
   * @param {Palette} palette
   * @param {boolean} isKnown
   */
  #item(name, pods, model, palette, isKnown) {
    const [pod] = pods;
    const where = isKnown ? (model.queue.get(keyOf(pod)) ?? {}) : null;
    const facts = [pod, where?.state, where?.until, pods.length, palette.styleOf(pod)];
    const known = this.#items.get(name);
    if (known?.facts.every((fact, index) => fact === facts[index])) return known.item;
    const item = known?.item ?? element("li");
    item.replaceChildren(content(pod, pods.length, where, palette));
    this.#items.set(name, { item, facts });
    return item;
  }
}

/** @param {number} hidden */
const nothing = (hidden) =>
  hidden ? "No pending pod matches the search and filters." : "The queue is empty. Every pod has a node.";

/**
 * @param {Pod} pod
 * @param {number} count
 * @param {Waiting | null} where
 * @param {Palette} palette
 */
function content(pod, count, where, palette) {
  const title = element(
    "span.queue-title",
    {},
    element(`span.swatch.${palette.styleOf(pod)}`),
    element("strong", {}, pod.name),
    count > 1 ? element("span.more", {}, `+${count - 1} more`) : null,
  );
  const size = `priority ${digits(priorityOf(pod))} · ${requests(pod)}`;
  return element(
    "button.queued",
    { type: "button", data: { pod: keyOf(pod), state: where?.state ?? "" } },
    title,
    element("span.size", {}, size),
    ...waiting(pod, where),
  );
}

/**
 * What the pod waits for, and until when.
 * @param {Pod} pod
 * @param {Waiting | null} where null if that is not known
 */
export function waiting(pod, where) {
  const lines = [];
  if (pod.gates) lines.push(element("span.state", {}, `Gated by ${pod.gates.join(", ")}`));
  else if (pod.nominated) {
    lines.push(
      element("span.state.nominated", {}, `Nominated to ${pod.nominated}, waiting for its victims to terminate`),
    );
  } else if (where) lines.push(whereLine(where, pod.group));
  if (pod.waitsFor) lines.push(element("span.why", {}, pod.waitsFor));
  return lines;
}

/**
 * @param {Waiting} where
 * @param {string | undefined} group the pod group that the pod is a member of
 */
function whereLine({ state, until }, group) {
  if (state === "backoff") return untilLine("In backoff, next attempt in ", until);
  if (state === "unschedulable") return untilLine("Waiting for a change that helps; retried within ", until);
  if (state === "gated") {
    const by = group ? `with its pod group ${group.slice(group.indexOf("/") + 1)}` : "by a plugin";
    return element("span.state", {}, `Held back ${by}`);
  }
  return element("span.state", {}, state ? "About to be tried" : "Not in this scheduler's queue");
}

/**
 * @param {string} text
 * @param {number | undefined} until
 */
function untilLine(text, until) {
  return element("span.state", {}, text, until ? element("time.countdown", { data: { until } }) : "a moment");
}

/**
 * @param {Pod} one
 * @param {Pod} other
 */
function inQueueOrder(one, other) {
  const [born, otherBorn] = [one.created ?? "", other.created ?? ""];
  if (priorityOf(one) !== priorityOf(other)) return priorityOf(other) - priorityOf(one);
  if (born !== otherBorn) return born < otherBorn ? -1 : 1;
  return one.name < other.name ? -1 : 1;
}
