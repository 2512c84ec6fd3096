// The records below the queue: events, budgets and what they still allow, workloads and their size, pod groups.

/** @import { Budget, ClusterEvent, Model, Workload } from "./model.js" */
/** @import { Filter } from "./filter.js" */
/** @import { PodsByUid } from "./uids.js" */
/** @typedef {(workload: Workload, replicas: number) => unknown} Scale */
/** @typedef {(group: string) => void} Choose */
/** @typedef {{key: string, facts: any, make: () => HTMLElement}} Entry */

import { arrange, byId, element } from "./dom.js";
import { clockTime, naturally } from "./format.js";
import { podGroupItem, podGroupRows } from "./groups.js";

const EVENTS_MAX = 120;
/** Of so many events, those heard of last, the latest are looked for. */
const EVENTS_SEEN = 1000;

export class Records {
  #shown = "events";
  #scale;
  #known;
  #choose;
  /** @type {Map<string, {facts: any, item: HTMLElement}>} */
  #items = new Map();

  /**
   * @param {Scale} scale
   * @param {PodsByUid} known
   * @param {Choose} choose
   */
  constructor(scale, known, choose) {
    this.#scale = scale;
    this.#known = known;
    this.#choose = choose;
    this.#listenToTabs();
  }

  /**
   * @param {Model} model
   * @param {Filter} filter
   */
  draw(model, filter) {
    /** @type {Record<string, () => Entry[]>} */
    const draws = {
      events: () => drawEvents(model, filter, this.#known),
      budgets: () => drawBudgets(model, filter),
      workloads: () => drawWorkloads(model, filter, this.#scale),
      podGroups: () => drawPodGroups(model, filter, this.#known, this.#choose),
    };
    byId("tab-podGroups").hidden = this.#shown !== "podGroups" && !model.hasGroups;
    arrange(byId("records"), [this.#list(draws[this.#shown]())]);
  }

  /**
   * Entries that say the same as before keep their element, and with it focus and what was typed; others keep the focus.
   * @param {Entry[]} entries
   */
  #list(entries) {
    const list = byId("records").querySelector("ul") ?? element("ul.entries");
    const kept = new Map();
    const focused = document.activeElement;
    const place = [...this.#items].find(([, { item }]) => item.contains(focused))?.[0];
    for (const { key, facts, make } of entries) {
      const known = this.#items.get(key);
      kept.set(key, known?.facts === facts ? known : { facts, item: make() });
    }
    this.#items = kept;
    arrange(
      list,
      [...kept.values()].map(({ item }) => item),
    );
    if (focused && !focused.isConnected) kept.get(place)?.item.querySelector(focused.localName)?.focus();
    return list;
  }

  #listenToTabs() {
    const tabs = /** @type {HTMLElement[]} */ ([...byId("tabs").children]);
    for (const tab of tabs) tab.addEventListener("click", () => this.#select(tab, tabs));
    byId("tabs").addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (!step) return;
      const shown = tabs.filter((tab) => !tab.hidden);
      const at = shown.indexOf(/** @type {HTMLElement} */ (document.activeElement));
      const next = shown[(at + step + shown.length) % shown.length];
      next.focus();
      this.#select(next, tabs);
    });
  }

  /**
   * @param {HTMLElement} chosen
   * @param {HTMLElement[]} tabs
   */
  #select(chosen, tabs) {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
    byId("records").setAttribute("aria-labelledby", chosen.id);
    this.#shown = chosen.id.replace("tab-", "");
    this.#items.clear();
    byId("records").replaceChildren();
    byId("records").dispatchEvent(new CustomEvent("redraw", { bubbles: true }));
  }
}

/**
 * @param {Iterable<unknown>} all
 * @param {string} text if there is nothing at all
 * @returns {Entry[]}
 */
function nothing(all, text) {
  const said = [...all].length ? "Nothing here matches the search and filters." : text;
  return [{ key: said, facts: said, make: () => element("li.empty", {}, said) }];
}

/**
 * @param {Model} model
 * @param {Filter} filter
 * @param {PodsByUid} known
 * @returns {Entry[]}
 */
function drawEvents(model, filter, known) {
  const found = latest(model.events).filter(
    ([, event]) => !filter.isActive || filter.hasText(event.namespace, eventText(event, known)),
  );
  if (!found.length) return nothing(model.events.keys(), "No events yet.");
  return found.slice(0, EVENTS_MAX).map(([key, event]) => ({ key, facts: event, make: () => eventItem(event, known) }));
}

/**
 * @param {Map<string, ClusterEvent>} events
 * @returns {[string, ClusterEvent][]}
 */
function latest(events) {
  let skipped = events.size - EVENTS_SEEN;
  const seen = [];
  for (const entry of events) {
    skipped -= 1;
    if (skipped < 0) seen.push(entry);
  }
  const dated = seen.reverse().map((entry) => /** @type {const} */ ([secondOf(entry[1]), entry]));
  return dated.sort(([one], [other]) => (one < other ? 1 : one > other ? -1 : 0)).map(([, entry]) => entry);
}

/**
 * Some events have microseconds and some do not; within a second the one heard of last comes first.
 * @param {ClusterEvent} event
 */
const secondOf = ({ at }) => at?.slice(0, 19) ?? "";

/**
 * @param {ClusterEvent} event
 * @param {PodsByUid} known
 */
const eventText = (event, known) => `${event.reason} ${event.about ?? ""} ${known.named(event.message ?? "")}`;

/**
 * @param {ClusterEvent} event
 * @param {PodsByUid} known
 */
function eventItem(event, known) {
  const times = (event.count ?? 1) > 1 ? ` ×${event.count}` : "";
  const time = element("time", {}, event.at ? clockTime(event.at) : "");
  return element(
    `li.event.${event.reason === "Preempted" ? "preempted" : (event.type ?? "").toLowerCase()}`,
    {},
    element("span.event-head", {}, time, element("strong", {}, `${event.reason ?? ""}${times}`)),
    element("span.about", {}, event.about ?? ""),
    element("span.message", {}, known.named(event.message ?? "")),
  );
}

/**
 * @param {Model} model
 * @param {Filter} filter
 * @returns {Entry[]}
 */
function drawBudgets(model, filter) {
  const all = [...model.budgets].sort(([one], [other]) => naturally(one, other));
  const found = all.filter(([, { namespace, name }]) => filter.hasText(namespace, name));
  if (!found.length) return nothing(all, "No disruption budgets. Preemption avoids violating them where it can.");
  return found.map(([key, budget]) => ({ key, facts: budget, make: () => budgetItem(budget) }));
}

/** @param {Budget} budget */
function budgetItem(budget) {
  const { allowed = 0, healthy = 0, desired = 0, expected = 0 } = budget;
  const most = Math.max(1, expected - desired, allowed);
  const meter = element("meter", { min: 0, max: most, value: allowed, "aria-hidden": "true" });
  return element(
    "li.budget",
    { data: { allows: allowed > 0 ? "some" : "none" } },
    element("strong", {}, budget.name),
    element("span.about", {}, budget.namespace),
    element("span.allowed", {}, allowed > 0 ? `allows ${allowed} more` : "allows none"),
    meter,
    element("span.message", {}, `${healthy} of ${expected} healthy, ${desired} needed`),
  );
}

/**
 * @param {Model} model
 * @param {Filter} filter
 * @param {Scale} scale
 * @returns {Entry[]}
 */
function drawWorkloads(model, filter, scale) {
  const all = [...model.workloads].sort(([one], [other]) => naturally(one, other));
  const found = all.filter(([, { kind, namespace, name }]) =>
    filter.hasText(namespace, `${kind} ${namespace}/${name}`),
  );
  if (!found.length) return nothing(all, "No workloads yet. Add a Deployment.");
  return found.map(([key, workload]) => ({ key, facts: workload, make: () => workloadItem(workload, scale) }));
}

/**
 * @param {Workload} workload
 * @param {Scale} scale
 */
function workloadItem(workload, scale) {
  const limits = { type: "number", min: 0, max: 9999, value: workload.replicas };
  const count = element("input", { ...limits, "aria-label": `Replicas of ${workload.name}` });
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    scale(workload, Number(/** @type {HTMLInputElement} */ (count).value));
  };
  const size = `${workload.kind} · ${workload.namespace} · ${workload.ready} of ${workload.replicas} ready`;
  return element(
    "li.workload",
    {},
    element("strong", {}, workload.name),
    element("span.about", {}, size),
    element("form", { onsubmit: submit }, count, element("button", { type: "submit" }, "Scale")),
  );
}

/**
 * @param {Model} model
 * @param {Filter} filter
 * @param {PodsByUid} known
 * @param {Choose} choose
 * @returns {Entry[]}
 */
function drawPodGroups(model, filter, known, choose) {
  const all = podGroupRows(model, known);
  const found = all.filter(({ namespace, name }) => filter.hasText(namespace, `${namespace}/${name}`));
  if (!found.length) return nothing(all, "No pod groups.");
  return found.map((row) => {
    const isChosen = row.key === filter.group;
    const facts = JSON.stringify([row, isChosen]);
    return { key: row.key, facts, make: () => podGroupItem(row, isChosen, choose) };
  });
}
