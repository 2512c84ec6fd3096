// The bay plan itself: zones, bays and blocks. Keeps elements by key, and touches only bays in which something changed.

import { arrange, element, setText } from "./dom.js";
import { amount, counted, naturally, percent, requests } from "./format.js";
import { nameOf, styleOf } from "./palette.js";
import { isEnding, isPending, isVictim, keyOf, priorityOf, takesRoom } from "./state.js";

// Up to so many nodes a plan is drawn in this density; STACK_HEIGHT is at least what plan.css gives a bay.
const DENSITIES = [["tall", 6], ["roomy", 12], ["compact", 120], ["dense", 250], ["tiny", Infinity]];
const STACK_HEIGHT = { tall: 400, roomy: 300, compact: 150, dense: 56, tiny: 36 };
const LABEL_HEIGHT = 14;

export class Plan {
  constructor(plan, zones, legend) {
    this.sizing = "cpu";
    this.#plan = plan;
    this.#zones = zones;
    this.#legend = legend;
  }

  #plan;
  #zones;
  #legend;
  #bays = new Map();
  #blocks = new Map();
  #sections = new Map();

  blockOf(key) {
    return this.#blocks.get(key);
  }

  bayOf(name) {
    return this.#bays.get(name)?.bay;
  }

  get density() {
    return this.#plan.dataset.density;
  }

  /** Draws the model; of the bays only those named, if a set of names is given. */
  draw(model, levels, only = null) {
    const pods = podsByNode(model);
    const count = model.nodes.size;
    const [density] = DENSITIES.find(([, most]) => count <= most);
    const all = only === null || density !== this.density;
    this.#plan.dataset.density = density;
    this.#drawLegend(model, levels);
    if (all || [...only].some((name) => this.#bays.has(name) !== model.nodes.has(`/${name}`))) this.#drawZones(model);
    const nodes = all ? [...model.nodes.values()] : [...only].map((name) => model.nodes.get(`/${name}`));
    for (const node of nodes) {
      if (node) this.#drawBay(node, pods.get(node.name) ?? [], levels);
    }
    if (all) this.#forgetGone();
  }

  #forgetGone() {
    for (const [key, block] of this.#blocks) if (!block.isConnected) this.#blocks.delete(key);
  }

  #drawLegend(model, levels) {
    const text = levels.map((level) => nameOf(level, model));
    if (this.#legend.dataset.text === text.join("|")) return;
    this.#legend.dataset.text = text.join("|");
    const entries = levels.map((level, index) =>
      element("li", {}, element(`span.swatch.${level.style}`), element("span", {}, text[index])),
    );
    entries[0]?.prepend(element("span.legend-title", {}, "Priority"));
    const marks = [["is-ending", "terminating"], ["is-victim", "preempted"], ["is-kept", "nominated"]];
    for (const [style, name] of marks) {
      entries.push(element("li", {}, element(`span.swatch.${style}`), element("span", {}, name)));
    }
    this.#legend.replaceChildren(...entries);
  }

  #drawZones(model) {
    const zones = new Map();
    const beginning = this.density === "dense" ? commonBeginning([...model.nodes.values()].map(({ name }) => name)) : "";
    for (const node of [...model.nodes.values()].sort((a, b) => naturally(a.name, b.name))) {
      const zone = node.zone ?? "";
      if (!zones.has(zone)) zones.set(zone, []);
      zones.get(zone).push(this.#bay(node).bay);
      setText(this.#bay(node).name, node.name.slice(beginning.length));
    }
    for (const name of [...this.#bays.keys()]) if (!model.nodes.has(`/${name}`)) this.#bays.delete(name);
    const sections = [...zones.keys()].sort(naturally).map((zone) => this.#section(zone, zones.get(zone)));
    if (!sections.length) sections.push(element("p.empty", {}, "No nodes yet. Add some with kubectl, or start with --nodes 5."));
    arrange(this.#zones, sections);
  }

  #section(zone, bays) {
    let section = this.#sections.get(zone);
    if (!section) {
      const title = element("h2", {}, zone || "No zone");
      section = element("section.zone", { "aria-label": zone || "No zone" }, title, element("div.bays", { role: "list" }));
      this.#sections.set(zone, section);
    }
    arrange(section.lastChild, bays);
    section.style.setProperty("--count", bays.length);
    return section;
  }

  #bay(node) {
    let parts = this.#bays.get(node.name);
    if (!parts) {
      const name = element("span.node-name");
      const state = element("span.node-state");
      const head = element("button.node", { type: "button", tabindex: "-1", data: { node: node.name } }, name, state);
      const stack = element("div.stack");
      const kept = element("div.kept-for");
      const level = element("span.level");
      const bay = element("article.bay", { role: "listitem" }, head, element("div.hold", {}, stack, kept), level);
      parts = { bay, head, name, state, stack, kept, level };
      this.#bays.set(node.name, parts);
    }
    return parts;
  }

  #drawBay(node, pods, levels) {
    const { bay, head, state, stack, kept, level } = this.#bay(node);
    const here = pods.filter(takesRoom).sort(byImportance);
    const nominated = pods.filter((pod) => isPending(pod) && pod.nominated === node.name).sort(byImportance);
    const used = here.reduce((sum, pod) => sum + (pod[this.sizing] ?? 0), 0);
    const words = nodeState(node);
    bay.classList.toggle("cordoned", Boolean(node.cordoned));
    bay.classList.toggle("failed", Boolean(node.notReady));
    setText(state, words);
    setText(level, percent(used, node[this.sizing]));
    const free = `${amount(this.sizing, Math.max(0, (node[this.sizing] ?? 0) - used))} ${this.sizing} free`;
    head.setAttribute("aria-label", [`Node ${node.name}`, words, counted(here.length, "pod"), free].filter(Boolean).join(", "));
    head.title = `${node.name}${words ? ` (${words})` : ""}: ${counted(here.length, "pod")}, ${free}`;
    arrange(stack, here.map((pod) => this.#block(pod, node, levels)));
    arrange(kept, nominated.map((pod) => this.#keptBlock(pod, node, levels)));
  }

  #block(pod, node, levels) {
    const key = keyOf(pod);
    let block = this.#blocks.get(key);
    if (!block?.isConnected || block.dataset.uid !== pod.uid) {
      block = element("button", { type: "button", tabindex: "-1", data: { pod: key, uid: pod.uid } }, element("span.label", {}, ...labelOf(pod)));
      this.#blocks.set(key, block);
    }
    const share = node[this.sizing] ? (pod[this.sizing] ?? 0) / node[this.sizing] : 0;
    const height = share * STACK_HEIGHT[this.density];
    block.className = ["block", styleOf(levels, pod.priority), ...blockStates(pod), height < LABEL_HEIGHT ? "small" : ""]
      .filter(Boolean)
      .join(" ");
    block.style.flexBasis = `${100 * share}%`;
    block.toggleAttribute("data-ends", isEnding(pod));
    if (isEnding(pod)) block.dataset.until = Date.parse(pod.endsAt);
    else delete block.dataset.until;
    const spoken = describe(pod);
    block.setAttribute("aria-label", spoken);
    block.title = spoken;
    return block;
  }

  #keptBlock(pod, node, levels) {
    const share = node[this.sizing] ? (pod[this.sizing] ?? 0) / node[this.sizing] : 0;
    const spoken = `Reserved for ${pod.name}, priority ${priorityOf(pod).toLocaleString("en")}`;
    const style = `button.block.kept.${styleOf(levels, pod.priority)}`;
    const facts = { type: "button", tabindex: "-1", title: spoken, "aria-label": spoken, data: { pod: keyOf(pod) } };
    const made = element(style, facts, element("span.label", {}, "▸ ", ...labelOf(pod)));
    made.style.height = `${Math.min(100, 100 * share)}%`;
    return made;
  }
}

/** The name, with what a ReplicaSet added to it apart, for it says little. */
function labelOf(pod) {
  const made = (pod.owner ?? "").startsWith("ReplicaSet/") ? pod.name.match(/^(.+?)(-[a-z0-9]+-[a-z0-9]+)$/) : null;
  return made ? [made[1], element("span.suffix", {}, made[2])] : [pod.name];
}

/** What all names begin with, up to a dash. */
function commonBeginning(names) {
  const [first = ""] = names;
  let length = first.lastIndexOf("-") + 1;
  while (length > 0 && !names.every((name) => name.startsWith(first.slice(0, length)))) {
    length = first.lastIndexOf("-", length - 2) + 1;
  }
  return first.slice(0, length);
}

function podsByNode(model) {
  const found = new Map();
  for (const pod of model.pods.values()) {
    const name = pod.node ?? pod.nominated;
    if (!name) continue;
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(pod);
  }
  return found;
}

/** The most important at the bottom: those who would have to go first lie on top. */
function byImportance(one, other) {
  return priorityOf(other) - priorityOf(one) || naturally(one.created ?? "", other.created ?? "") || naturally(one.name, other.name);
}

function nodeState(node) {
  if (node.notReady) return node.notReady === "Unknown" ? "unreachable" : "not ready";
  return node.cordoned ? "cordoned" : "";
}

function blockStates(pod) {
  const states = [];
  if (isEnding(pod)) states.push("ending");
  if (isVictim(pod)) states.push("victim");
  if (!pod.ready && !isEnding(pod)) states.push("starting");
  return states;
}

export function describe(pod) {
  const states = isVictim(pod) ? "preempted, terminating" : isEnding(pod) ? "terminating" : (pod.phase ?? "").toLowerCase();
  return `Pod ${pod.name}, priority ${priorityOf(pod).toLocaleString("en")}, ${requests(pod)}, ${states}`;
}

/** Names of the nodes whose bays these changes touch. */
export function touched(changes) {
  const names = new Set();
  for (const { table, key, before, now } of changes) {
    if (table === "nodes") names.add(key.slice(1));
    if (table !== "pods") continue;
    for (const pod of [before, now]) for (const name of [pod?.node, pod?.nominated]) if (name) names.add(name);
  }
  return names;
}
