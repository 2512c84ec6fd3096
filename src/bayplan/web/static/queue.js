// The queue at the side: who waits, for what, and until when. Pods of one owner that wait for the same stand together.

import { arrange, byId, element, setText } from "./dom.js";
import { naturally, requests } from "./format.js";
import { styleOf } from "./palette.js";
import { isPending, keyOf, priorityOf } from "./state.js";

const SHOWN_MAX = 100;

export class Queue {
  #items = new Map();
  #groupOf = new Map();

  itemOf(key) {
    return this.#items.get(this.#groupOf.get(key));
  }

  draw(model, levels) {
    const pending = [...model.pods.values()].filter(isPending).sort(inQueueOrder);
    const groups = this.#grouped(pending);
    setText(byId("queue-count"), pending.length ? String(pending.length) : "");
    const shown = [...groups].slice(0, SHOWN_MAX);
    const items = shown.map(([name, pods]) => this.#item(name, pods, model, levels));
    for (const name of [...this.#items.keys()]) if (!groups.has(name)) this.#items.delete(name);
    if (!items.length) items.push(element("li.empty", {}, "The queue is empty. Every pod has a node."));
    if (groups.size > SHOWN_MAX) items.push(element("li.empty", {}, `and ${groups.size - SHOWN_MAX} more`));
    arrange(byId("queue"), items);
  }

  #grouped(pending) {
    const groups = new Map();
    this.#groupOf.clear();
    for (const pod of pending) {
      const alone = !pod.owner || pod.nominated;
      const name = alone ? keyOf(pod) : `${pod.namespace} ${pod.owner} ${pod.waitsFor ?? ""} ${pod.gates ?? ""}`;
      this.#groupOf.set(keyOf(pod), name);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(pod);
    }
    return groups;
  }

  #item(name, pods, model, levels) {
    const [pod] = pods;
    const where = model.queue.get(keyOf(pod)) ?? {};
    const signature = JSON.stringify([pod, where, pods.length, styleOf(levels, pod.priority)]);
    const known = this.#items.get(name);
    if (known?.dataset.signature === signature) return known;
    const item = known ?? element("li");
    item.dataset.signature = signature;
    item.replaceChildren(this.#content(pod, pods.length, where, levels));
    this.#items.set(name, item);
    return item;
  }

  #content(pod, count, where, levels) {
    const title = element(
      "span.queue-title",
      {},
      element(`span.swatch.${styleOf(levels, pod.priority)}`),
      element("strong", {}, pod.name),
      count > 1 ? element("span.more", {}, `+${count - 1} more`) : null,
    );
    const size = `priority ${priorityOf(pod).toLocaleString("en")} · ${requests(pod)}`;
    return element(
      "button.queued",
      { type: "button", data: { pod: keyOf(pod), state: where.state ?? "" } },
      title,
      element("span.size", {}, size),
      ...waiting(pod, where),
    );
  }
}

/** What the pod waits for, and until when. */
export function waiting(pod, where) {
  const lines = [];
  if (pod.gates) lines.push(element("span.state", {}, `Gated by ${pod.gates.join(", ")}`));
  else if (pod.nominated) lines.push(element("span.state.nominated", {}, `Nominated to ${pod.nominated}, waiting for its victims to terminate`));
  else if (where.state === "backoff") lines.push(untilLine("In backoff, next attempt in ", where.until));
  else if (where.state === "unschedulable") lines.push(untilLine("Waiting for a change that helps; retried within ", where.until));
  else if (where.state === "gated") lines.push(element("span.state", {}, "Held back by a plugin"));
  else if (where.state) lines.push(element("span.state", {}, "About to be tried"));
  else lines.push(element("span.state", {}, "Not in this scheduler's queue"));
  if (pod.waitsFor) lines.push(element("span.why", {}, pod.waitsFor));
  return lines;
}

function untilLine(text, until) {
  return element("span.state", {}, text, until ? element("time.countdown", { data: { until } }) : "a moment");
}

function inQueueOrder(one, other) {
  return priorityOf(other) - priorityOf(one) || naturally(one.created ?? "", other.created ?? "") || naturally(one.name, other.name);
}
