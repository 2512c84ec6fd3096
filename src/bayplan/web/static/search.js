// The search field and the filters, and what they find: a line of results, of which Enter visits one after the other.

/** @import { Model, Node as ClusterNode, Pod } from "./model.js" */
/** @typedef {{kind: "node" | "pod", key: string, name: string}} Found */

import { byId, element, setText } from "./dom.js";
import { Filter, NO_CLASS } from "./filter.js";
import { counted, digits, naturally } from "./format.js";
import { keyOf, STATES } from "./model.js";

const RESULTS_MAX = 40;
/** While the cluster changes, it is searched again no more often than this. */
const PAUSE_MS = 500;
const SELECTS = ["namespace", "priorityClass", "state"];

export class Search {
  filter = new Filter();
  #group = "";
  #changed;
  #visit;
  #words = /** @type {HTMLInputElement} */ (byId("search"));
  /** @type {Found[]} */
  #found = [];
  #at = -1;
  #shown = "";
  /** @type {{filter: Filter, model: Model, at: number} | null} */
  #searched = null;
  #timer = 0;

  /**
   * @param {() => void} changed
   * @param {(found: Found) => void} visit
   */
  constructor(changed, visit) {
    this.#changed = changed;
    this.#visit = visit;
    this.#words.addEventListener("input", () => this.#take());
    this.#words.addEventListener("keydown", (event) => this.#press(event));
    for (const name of SELECTS) select(name).addEventListener("change", () => this.#take());
    byId("clear").addEventListener("click", () => this.clear());
    fill(
      select("state"),
      STATES.map((state) => [state, state]),
    );
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || isTyping(event.target) || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#words.focus();
      this.#words.select();
    });
  }

  clear() {
    this.#words.value = "";
    for (const name of SELECTS) select(name).value = "";
    this.#group = "";
    this.#take();
  }

  /**
   * Looks for the members of a pod group, or no longer if it did.
   * @param {string} key
   */
  toggleGroup(key) {
    this.#group = this.#group === key ? "" : key;
    this.#take();
  }

  #take() {
    const [namespace, priorityClass, state] = SELECTS.map((name) => select(name).value);
    this.filter = new Filter({ words: this.#words.value, namespace, priorityClass, state, group: this.#group });
    this.#at = -1;
    this.#changed();
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    if (event.key === "Escape" && this.#words.value) {
      event.stopPropagation();
      this.clear();
    }
    if (event.key !== "Enter" || !this.#found.length) return;
    this.#at = (this.#at + (event.shiftKey ? -1 : 1) + this.#found.length) % this.#found.length;
    this.#visit(this.#found[this.#at]);
  }

  /** @param {Model} model */
  draw(model) {
    fill(
      select("namespace"),
      [...model.namespaces.values()].map(({ name }) => [name, name]),
    );
    const classes = [...model.classes.values()].sort((one, other) => one.value - other.value);
    const options = classes.map(({ name, value }) => [name, `${name} (${digits(value)})`]);
    fill(select("priorityClass"), [[NO_CLASS, "no class"], ...options]);
    byId("clear").hidden = !this.filter.isActive;
    byId("found").hidden = !this.filter.isActive;
    if (this.filter.isActive) this.#search(model);
  }

  /** @param {Model} model */
  #search(model) {
    const last = this.#searched;
    const isSame = last?.filter === this.filter && last.model === model;
    const left = isSame ? last.at + PAUSE_MS - performance.now() : 0;
    clearTimeout(this.#timer);
    if (left > 0) {
      this.#timer = setTimeout(() => this.draw(model), left);
      return;
    }
    this.#searched = { filter: this.filter, model, at: performance.now() };
    this.#drawFound(this.filter.find(model));
  }

  /** @param {{nodes: ClusterNode[], pods: Pod[]}} found */
  #drawFound({ nodes, pods }) {
    /** @type {Found[]} */
    const all = nodes.map(({ name }) => ({ kind: "node", key: `/${name}`, name }));
    for (const pod of pods.slice(0, RESULTS_MAX)) all.push({ kind: "pod", key: keyOf(pod), name: pod.name });
    this.#found = all.slice(0, RESULTS_MAX);
    const counts = [counted(pods.length, "pod"), nodes.length ? counted(nodes.length, "node") : ""].filter(Boolean);
    setText(byId("found-count"), pods.length || nodes.length ? counts.join(", ") : "Nothing found");
    const shown = this.#found.map(({ key }) => key).join();
    if (shown === this.#shown) return;
    this.#shown = shown;
    const items = this.#found.map((one) =>
      element("li", {}, element("button.result", { type: "button", onclick: () => this.#visit(one) }, one.name)),
    );
    const more = pods.length + nodes.length - items.length;
    if (more > 0) items.push(element("li.about", {}, `and ${counted(more, "other")}`));
    byId("results").replaceChildren(...items);
  }
}

/** @param {string} name */
const select = (name) => /** @type {HTMLSelectElement} */ (byId(`filter-${name}`));

/** @param {EventTarget | null} target */
const isTyping = (target) =>
  target instanceof HTMLElement && target.matches("input:not([type=radio], [type=range]), select");

/**
 * Gives a select these options after its first one; what is chosen stays chosen.
 * @param {HTMLSelectElement} control
 * @param {string[][]} options
 */
function fill(control, options) {
  const sorted = control.id === "filter-namespace" ? options.sort(([one], [other]) => naturally(one, other)) : options;
  const key = JSON.stringify(sorted);
  if (control.dataset.options === key) return;
  control.dataset.options = key;
  const chosen = control.value;
  const [any] = control.options;
  control.replaceChildren(any, ...sorted.map(([value, text]) => element("option", { value }, text)));
  control.value = sorted.some(([value]) => value === chosen) ? chosen : "";
}
