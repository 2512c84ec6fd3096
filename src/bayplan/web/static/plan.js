// The bay plan itself: groups, bays and blocks. Keeps elements, and touches only bays in which something changed.

/** @import { Model, Node as ClusterNode, Pod, Resource, Change } from "./model.js" */
/** @import { Palette } from "./palette.js" */
/** @import { Filter } from "./filter.js" */
/** @import { Stage } from "./staging.js" */
/** @import { Band } from "./strips.js" */
/** @typedef {"zone" | "pool" | "none"} Grouping */
/** @typedef {{model: Model, stage: Stage, palette: Palette, filter: Filter}} View */
/** @typedef {Record<"bay" | "head" | "name" | "state" | "stack" | "kept" | "level", HTMLElement> & {bands: Band[]}} Bay */

import { arrange, element, setText } from "./dom.js";
import { amount, counted, cpu, digits, memory, naturally, percent, requests } from "./format.js";
import { isEnding, isPending, isVictim, keyOf, priorityOf, stateOf, takesRoom } from "./model.js";
import { bandAt, bandsOf, gradient } from "./strips.js";

/** @type {[string, number][]} up to so many nodes a plan is drawn in this density, whose sizes are in plan.css */
const DENSITIES = [
  ["tall", 6],
  ["roomy", 12],
  ["compact", 120],
  ["dense", 250],
  ["tiny", Number.POSITIVE_INFINITY],
];
/** Of a frame, where there are many bays; the rest follows in the next frames. */
const DRAWING_MS = 8;
const LABEL_HEIGHT = 14;
const BLOCKS_SPARE = 100;
const MARKS = [
  ["is-ending", "terminating"],
  ["is-victim", "preempted"],
  ["is-kept", "nominated"],
];

export class Plan {
  /** @type {Resource} */
  sizing = "cpu";
  /** @type {Grouping} */
  grouping = "zone";

  #plan;
  #groups;
  #legend;
  /** @type {Map<string, Bay>} */
  #bays = new Map();
  /** @type {Map<string, {block: HTMLElement, pod: Pod, node: string}>} by uid */
  #blocks = new Map();
  /** @type {Map<string, {block: HTMLElement, pod: Pod}>} by uid */
  #kept = new Map();
  /** @type {Map<string, HTMLElement>} */
  #sections = new Map();
  /** @type {Set<string>} nodes whose bays are still to be drawn from scratch */
  #stale = new Set();
  #epoch = "";
  #height = 0;

  /**
   * @param {HTMLElement} plan
   * @param {HTMLElement} groups
   * @param {HTMLElement} legend
   */
  constructor(plan, groups, legend) {
    this.#plan = plan;
    this.#groups = groups;
    this.#legend = legend;
  }

  /** @param {string} uid */
  blockOf(uid) {
    return connected(this.#blocks.get(uid)?.block);
  }

  /** @param {string} uid */
  keptBlockOf(uid) {
    return connected(this.#kept.get(uid)?.block);
  }

  /** @param {string} name */
  bayOf(name) {
    return this.#bays.get(name)?.bay;
  }

  /** @param {string} name */
  headOf(name) {
    return this.#bays.get(name)?.head;
  }

  get density() {
    return this.#plan.dataset.density ?? "";
  }

  /** Whether bays are too small for blocks. */
  get isDense() {
    return this.density === "dense" || this.density === "tiny";
  }

  /** Everything is to be drawn again. */
  invalidate() {
    this.#epoch = "";
  }

  /**
   * Draws the model; of the bays only those named, if nothing else has changed.
   * @param {View} view
   * @param {Set<string> | null} only
   */
  draw(view, only = null) {
    const { model, palette, filter } = view;
    const [density] = DENSITIES.find(([, most]) => model.nodes.size <= most) ?? DENSITIES[0];
    const epoch = [density, this.sizing, this.grouping, palette.key, filter.key].join();
    const all = only === null || epoch !== this.#epoch;
    if (density !== this.density) this.#startOver(density);
    this.#epoch = epoch;
    this.#plan.classList.toggle("filtering", filter.isActive);
    this.#drawLegend(palette);
    const names = all ? null : [...only];
    if (!names || names.some((name) => this.#bays.has(name) !== model.nodes.has(`/${name}`))) this.#drawGroups(model);
    if (all) this.#stale = new Set([...model.nodes.values()].map(({ name }) => name));
    const end = this.isDense ? performance.now() + DRAWING_MS : Number.POSITIVE_INFINITY;
    for (const name of names ?? []) this.#drawNamed(name, view);
    for (const name of this.#stale) {
      if (performance.now() > end) break;
      this.#drawNamed(name, view);
    }
    if (all || this.#blocks.size > 2 * model.placed + BLOCKS_SPARE) this.#forgetGone();
  }

  /** Whether the next frame should go on drawing. */
  get isBehind() {
    return this.#stale.size > 0;
  }

  /**
   * @param {string} name
   * @param {View} view
   */
  #drawNamed(name, view) {
    const isStale = this.#stale.delete(name);
    const node = view.model.nodes.get(`/${name}`);
    if (node) this.#drawBay(node, view, isStale);
  }

  /** @param {string} density */
  #startOver(density) {
    this.#plan.dataset.density = density;
    for (const { stack, kept } of this.#bays.values()) {
      stack.style.backgroundImage = "";
      stack.replaceChildren();
      kept.replaceChildren();
    }
    this.#blocks.clear();
    this.#kept.clear();
  }

  #forgetGone() {
    for (const [uid, { block }] of this.#blocks) if (!block.isConnected) this.#blocks.delete(uid);
    for (const [uid, { block }] of this.#kept) if (!block.isConnected) this.#kept.delete(uid);
  }

  /** @param {Palette} palette */
  #drawLegend({ legend, key }) {
    if (this.#legend.dataset.key === key) return;
    this.#legend.dataset.key = key;
    const entries = [...legend, ...MARKS.map(([style, text]) => ({ style, text }))];
    const items = entries.map(({ style, text }) =>
      element("li", {}, style && element(`span.swatch.${style}`), element("span", {}, text)),
    );
    this.#legend.replaceChildren(...items);
  }

  /** @param {Model} model */
  #drawGroups(model) {
    /** @type {Map<string, HTMLElement[]>} */
    const groups = new Map();
    const nodes = [...model.nodes.values()].sort((one, other) => naturally(one.name, other.name));
    const beginning = this.density === "dense" ? commonBeginning(nodes.map(({ name }) => name)) : "";
    for (const node of nodes) {
      const group = groupOf(node, this.grouping);
      const { bay, name } = this.#bay(node);
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group)?.push(bay);
      setText(name, node.name.slice(beginning.length));
    }
    for (const name of [...this.#bays.keys()]) if (!model.nodes.has(`/${name}`)) this.#bays.delete(name);
    const sections = [...groups]
      .sort(([one], [other]) => naturally(one, other))
      .map(([name, bays]) => this.#section(name, bays));
    for (const name of [...this.#sections.keys()]) if (!groups.has(name)) this.#sections.delete(name);
    if (!sections.length) {
      sections.push(element("p.empty", {}, "No nodes yet. Add some with kubectl, or start with --nodes 5."));
    }
    arrange(this.#groups, sections);
    this.#height = this.#groups.querySelector(".hold")?.clientHeight ?? 0;
  }

  /**
   * @param {string} name
   * @param {HTMLElement[]} bays
   */
  #section(name, bays) {
    let section = this.#sections.get(name);
    if (!section) {
      const title = element("h2", {}, element("span", {}, name), element("span.count"));
      section = element("section.group", { "aria-label": name }, title, element("div.bays", { role: "list" }));
      this.#sections.set(name, section);
    }
    setText(/** @type {Element} */ (section.querySelector(".count")), counted(bays.length, "node"));
    arrange(/** @type {Element} */ (section.lastChild), bays);
    section.style.setProperty("--count", String(bays.length));
    return section;
  }

  /**
   * @param {ClusterNode} node
   * @returns {Bay}
   */
  #bay(node) {
    let parts = this.#bays.get(node.name);
    if (!parts) {
      const name = element("span.node-name");
      const state = element("span.node-state");
      const head = element("button.node", { type: "button", tabindex: "-1", data: { node: node.name } }, name, state);
      const stack = element("div.stack");
      const kept = element("div.kept-for");
      const level = element("span.level");
      const bay = element("div.bay", { role: "listitem" }, head, element("div.hold", {}, stack, kept), level);
      parts = { bay, head, name, state, stack, kept, level, bands: [] };
      this.#bays.set(node.name, parts);
    }
    return parts;
  }

  /**
   * @param {ClusterNode} node
   * @param {View} view
   * @param {boolean} all
   */
  #drawBay(node, view, all) {
    const parts = this.#bay(node);
    const { bay, head, state, kept, level } = parts;
    const pods = view.stage.podsOn(node.name);
    const here = pods.filter(takesRoom).sort(byImportance);
    const nominated = pods.filter(isPending).sort(byImportance);
    const used = here.reduce((sum, pod) => sum + (pod[this.sizing] ?? 0), 0);
    const words = nodeState(node);
    bay.classList.toggle("cordoned", Boolean(node.cordoned));
    bay.classList.toggle("failed", Boolean(node.notReady));
    bay.classList.toggle("claimed", nominated.length > 0);
    bay.classList.toggle("hit", view.filter.isActive && view.filter.hasNode(node));
    setText(state, words);
    setText(level, percent(used, node[this.sizing]));
    const free = `${amount(this.sizing, Math.max(0, (node[this.sizing] ?? 0) - used))} ${this.sizing} free`;
    const spoken = [`Node ${node.name}`, words, counted(here.length, "pod"), free].filter(Boolean).join(", ");
    if (head.getAttribute("aria-label") !== spoken) head.setAttribute("aria-label", spoken);
    this.#fill(parts, here, node, view, all);
    arrange(
      kept,
      nominated.map((pod) => this.#keptBlock(pod, node, view, all)),
    );
  }

  /**
   * Pods as blocks or, where they would be too small and too many, as bands of one strip.
   * @param {Bay} parts
   * @param {Pod[]} pods
   * @param {ClusterNode} node
   * @param {View} view
   * @param {boolean} all
   */
  #fill(parts, pods, node, view, all) {
    if (!this.isDense) {
      const blocks = pods.map((pod) => this.#block(pod, node, view, all));
      arrange(parts.stack, blocks);
      return;
    }
    const { filter, palette } = view;
    parts.bands = bandsOf(pods, (pod) => this.#share(pod, node));
    parts.stack.dataset.pods = String(pods.length);
    parts.stack.style.backgroundImage = gradient(parts.bands, this.#height, (pod) => {
      if (filter.isActive && !filter.hasPod(pod)) return "faint";
      if (isEnding(pod)) return isVictim(pod) ? "alarm" : "border";
      return palette.styleOf(pod).replace("p-", "");
    });
  }

  /**
   * The pod at a point of a strip.
   * @param {Element} stack
   * @param {number} y on the screen
   * @returns {Pod | undefined}
   */
  podAt(stack, y) {
    const head = stack.closest(".bay")?.querySelector("button.node");
    const name = head instanceof HTMLElement ? head.dataset.node : undefined;
    const { bottom, height } = stack.getBoundingClientRect();
    return bandAt(this.#bays.get(name ?? "")?.bands ?? [], (bottom - y) / height);
  }

  /**
   * @param {Pod} pod
   * @param {ClusterNode} node
   * @param {View} view
   * @param {boolean} all
   */
  #block(pod, node, view, all) {
    const known = this.#blocks.get(pod.uid);
    if (known && known.pod === pod && known.node === node.name && !all) return known.block;
    const block = known?.node === node.name ? known.block : this.#newBlock(pod);
    this.#blocks.set(pod.uid, { block, pod, node: node.name });
    const share = this.#share(pod, node);
    const isSmall = share * this.#height < LABEL_HEIGHT;
    const isHit = view.filter.isActive && view.filter.hasPod(pod);
    block.className = ["block", view.palette.styleOf(pod), ...blockStates(pod), isSmall && "small", isHit && "hit"]
      .filter(Boolean)
      .join(" ");
    block.style.flexBasis = `${100 * share}%`;
    const until = Date.parse(pod.endsAt ?? "");
    if (until) block.dataset.until = String(until);
    else delete block.dataset.until;
    block.setAttribute("aria-label", describe(pod));
    block.removeAttribute("title");
    return block;
  }

  /** @param {Pod} pod */
  #newBlock(pod) {
    const label = element("span.label", {}, ...labelOf(pod));
    return element("button", { type: "button", tabindex: "-1", data: { pod: keyOf(pod), uid: pod.uid } }, label);
  }

  /**
   * @param {Pod} pod
   * @param {ClusterNode} node
   */
  #share(pod, node) {
    const whole = node[this.sizing] ?? 0;
    return whole ? (pod[this.sizing] ?? 0) / whole : 0;
  }

  /**
   * @param {Pod} pod
   * @param {ClusterNode} node
   * @param {View} view
   * @param {boolean} all
   */
  #keptBlock(pod, node, view, all) {
    const known = this.#kept.get(pod.uid);
    if (known && known.pod.nominated === pod.nominated && !all) return known.block;
    const spoken = `Reserved for ${pod.name}, priority ${digits(priorityOf(pod))}`;
    const isHit = view.filter.isActive && view.filter.hasPod(pod);
    const kind = ["button", "block", "kept", view.palette.styleOf(pod), isHit && "hit"].filter(Boolean).join(".");
    const facts = { type: "button", tabindex: "-1", "aria-label": spoken, data: { pod: keyOf(pod) } };
    const block = element(kind, facts, this.isDense ? null : element("span.label", {}, ...labelOf(pod)));
    block.style.height = `${Math.min(100, 100 * this.#share(pod, node))}%`;
    this.#kept.set(pod.uid, { block, pod });
    return block;
  }
}

/** @param {HTMLElement | undefined} block */
const connected = (block) => (block?.isConnected ? block : undefined);

/**
 * @param {ClusterNode} node
 * @param {Grouping} grouping
 */
function groupOf(node, grouping) {
  if (grouping === "none") return "All nodes";
  if (grouping === "zone") return node.zone ?? "No zone";
  return node.pool ?? `${cpu(node.cpu)} cpu, ${memory(node.memory)}`;
}

/**
 * The name, with what a ReplicaSet added to it apart, for it says little.
 * @param {Pod} pod
 */
function labelOf(pod) {
  const made = (pod.owner ?? "").startsWith("ReplicaSet/") ? pod.name.match(/^(.+?)(-[a-z0-9]+-[a-z0-9]+)$/) : null;
  return made ? [made[1], element("span.suffix", {}, made[2])] : [pod.name];
}

/**
 * What all names begin with, up to a dash.
 * @param {string[]} names
 */
export function commonBeginning(names) {
  const [first = ""] = names;
  let length = first.lastIndexOf("-") + 1;
  while (length > 0 && !names.every((name) => name.startsWith(first.slice(0, length)))) {
    length = length < 2 ? 0 : first.lastIndexOf("-", length - 2) + 1;
  }
  return first.slice(0, length);
}

/**
 * The most important at the bottom: those who would have to go first lie on top.
 * @param {Pod} one
 * @param {Pod} other
 */
function byImportance(one, other) {
  const [born, otherBorn] = [one.created ?? "", other.created ?? ""];
  if (priorityOf(one) !== priorityOf(other)) return priorityOf(other) - priorityOf(one);
  if (born !== otherBorn) return born < otherBorn ? -1 : 1;
  return one.name < other.name ? -1 : 1;
}

/** @param {ClusterNode} node */
function nodeState(node) {
  if (node.notReady) return node.notReady === "Unknown" ? "unreachable" : "not ready";
  return node.cordoned ? "cordoned" : "";
}

/** @param {Pod} pod */
function blockStates(pod) {
  return [isEnding(pod) && "ending", isVictim(pod) && "victim", !pod.ready && !isEnding(pod) && "starting"];
}

/** @param {Pod} pod */
export function describe(pod) {
  const state = isVictim(pod) ? "preempted, terminating" : stateOf(pod);
  return `Pod ${pod.name} in ${pod.namespace}, priority ${digits(priorityOf(pod))}, ${requests(pod)}, ${state}`;
}

/**
 * Names of the nodes whose bays these changes touch.
 * @param {Iterable<Change>} changes
 */
export function touched(changes) {
  /** @type {Set<string>} */
  const names = new Set();
  for (const { table, key, before, now } of changes) {
    if (table === "nodes") names.add(key.slice(1));
    if (table !== "pods") continue;
    for (const pod of [before, now]) for (const name of [pod?.node, pod?.nominated]) if (name) names.add(name);
  }
  return names;
}
