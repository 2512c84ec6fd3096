// The records below the queue: events, budgets and what they still allow, workloads and their size.

import { arrange, byId, element } from "./dom.js";
import { clockTime, naturally } from "./format.js";

const EVENTS_MAX = 120;

export class Records {
  constructor(scale) {
    this.shown = "events";
    this.#scale = scale;
    this.#listenToTabs();
  }

  #scale;
  #items = new Map();

  draw(model) {
    const draws = { events: drawEvents, budgets: drawBudgets, workloads: drawWorkloads };
    const entries = draws[this.shown](model, this.#scale);
    arrange(byId("records"), [this.#list(entries)]);
  }

  /** Entries that say the same as before keep their element, and with it focus and what was typed. */
  #list(entries) {
    const list = byId("records").querySelector("ul") ?? element("ul.entries");
    const kept = new Map();
    for (const { key, signature, make } of entries) {
      const known = this.#items.get(key);
      kept.set(key, known?.signature === signature ? known : { signature, item: make() });
    }
    this.#items = kept;
    arrange(list, [...kept.values()].map(({ item }) => item));
    return list;
  }

  #listenToTabs() {
    const tabs = [...byId("tabs").children];
    for (const tab of tabs) tab.addEventListener("click", () => this.#select(tab, tabs));
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
      next.focus();
      this.#select(next, tabs);
    });
  }

  #select(chosen, tabs) {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab === chosen));
      tab.tabIndex = tab === chosen ? 0 : -1;
    }
    byId("records").setAttribute("aria-labelledby", chosen.id);
    this.shown = chosen.id.replace("tab-", "");
    this.#items.clear();
    byId("records").replaceChildren();
    byId("records").dispatchEvent(new CustomEvent("redraw", { bubbles: true }));
  }
}

function entry(key, facts, make) {
  return { key, signature: JSON.stringify(facts), make };
}

function nothing(text) {
  return [entry("nothing", text, () => element("li.empty", {}, text))];
}

function drawEvents(model) {
  const events = [...model.events].reverse().sort(([, one], [, other]) => secondOf(other) - secondOf(one));
  if (!events.length) return nothing("No events yet.");
  return events.slice(0, EVENTS_MAX).map(([key, event]) => entry(key, event, () => eventItem(event)));
}

/** Some events have microseconds and some do not; within a second the one heard of last comes first. */
const secondOf = ({ at }) => (at ? Date.parse(`${at.slice(0, 19)}Z`) : 0);

function eventItem(event) {
  const times = event.count > 1 ? ` ×${event.count}` : "";
  return element(
    `li.event.${event.reason === "Preempted" ? "preempted" : (event.type ?? "").toLowerCase()}`,
    {},
    element("span.event-head", {}, element("time", {}, event.at ? clockTime(event.at) : ""), element("strong", {}, `${event.reason}${times}`)),
    element("span.about", {}, event.about ?? ""),
    element("span.message", {}, event.message ?? ""),
  );
}

function drawBudgets(model) {
  const budgets = [...model.budgets].sort(([one], [other]) => naturally(one, other));
  if (!budgets.length) return nothing("No disruption budgets. Preemption avoids violating them where it can.");
  return budgets.map(([key, budget]) => entry(key, budget, () => budgetItem(budget)));
}

function budgetItem(budget) {
  const { allowed = 0, healthy = 0, desired = 0, expected = 0 } = budget;
  const meter = element("meter", { min: 0, max: Math.max(1, expected - desired, allowed), value: allowed, "aria-hidden": "true" });
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

function drawWorkloads(model, scale) {
  const workloads = [...model.workloads].sort(([one], [other]) => naturally(one, other));
  if (!workloads.length) return nothing("No workloads yet. Add a Deployment.");
  return workloads.map(([key, workload]) => entry(key, workload, () => workloadItem(workload, scale)));
}

function workloadItem(workload, scale) {
  const count = element("input", {
    type: "number", min: 0, max: 9999, value: workload.replicas, "aria-label": `Replicas of ${workload.name}`,
  });
  const submit = (event) => {
    event.preventDefault();
    scale(workload, Number(count.value));
  };
  return element(
    "li.workload",
    {},
    element("strong", {}, workload.name),
    element("span.about", {}, `${workload.kind} · ${workload.namespace} · ${workload.ready} of ${workload.replicas} ready`),
    element("form", { onsubmit: submit }, count, element("button", { type: "submit" }, "Scale")),
  );
}
