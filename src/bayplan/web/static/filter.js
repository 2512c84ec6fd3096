// What somebody looks for: words, a namespace, a class, a state, a pod group. Tells which pods and nodes are meant.

/** @import { Model, Node, Pod } from "./model.js" */
/** @typedef {{words: string, namespace: string, priorityClass: string, state: string, group: string}} Wanted */

import { naturally } from "./format.js";
import { stateOf } from "./model.js";

/** How pods without a class are asked for: no class can be called so. */
export const NO_CLASS = "(none)";

/** @type {WeakMap<object, string>} */
const texts = new WeakMap();

export class Filter {
  #wanted;
  /** @type {string[]} */
  #words;

  /** @param {Partial<Wanted>} wanted */
  constructor(wanted = {}) {
    this.#wanted = { words: "", namespace: "", priorityClass: "", state: "", group: "", ...wanted };
    this.#words = this.#wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
  }

  get isActive() {
    const { namespace, priorityClass, state, group } = this.#wanted;
    return this.#words.length > 0 || Boolean(namespace || priorityClass || state || group);
  }

  /** The key of the pod group whose members are meant. */
  get group() {
    return this.#wanted.group;
  }

  /** Says whether two filters want the same. */
  get key() {
    return JSON.stringify({ ...this.#wanted, words: this.#words });
  }

  /** @param {Pod} pod */
  hasPod(pod) {
    const { namespace, priorityClass, state, group } = this.#wanted;
    if (group && pod.group !== group) return false;
    if (namespace && pod.namespace !== namespace) return false;
    if (priorityClass && (pod.priorityClass ?? NO_CLASS) !== priorityClass) return false;
    if (state && stateOf(pod) !== state) return false;
    return this.#isIn(pod, podText);
  }

  /**
   * Nodes are meant by words alone, as they have neither namespace nor class.
   * @param {Node} node
   */
  hasNode(node) {
    return this.#words.length > 0 && this.#isIn(node, nodeText);
  }

  /**
   * Of records, those about what is looked for.
   * @param {string} namespace
   * @param {string} text
   */
  hasText(namespace, text) {
    if (this.#wanted.namespace && namespace !== this.#wanted.namespace) return false;
    const lower = text.toLowerCase();
    return this.#words.every((word) => lower.includes(word));
  }

  /**
   * Everything that is meant, nodes first, in the order of their names.
   * @param {Model} model
   * @returns {{nodes: Node[], pods: Pod[]}}
   */
  find(model) {
    if (!this.isActive) return { nodes: [], pods: [] };
    const nodes = [...model.nodes.values()].filter((node) => this.hasNode(node));
    const pods = [...model.pods.values()].filter((pod) => this.hasPod(pod));
    return { nodes: nodes.sort(byName), pods: pods.length > SORTED_MAX ? pods : pods.sort(byName) };
  }

  /**
   * @template {object} T
   * @param {T} object
   * @param {(object: T) => string} write
   */
  #isIn(object, write) {
    if (!this.#words.length) return true;
    const text = texts.get(object) ?? write(object).toLowerCase();
    texts.set(object, text);
    return this.#words.every((word) => text.includes(word));
  }
}

const SORTED_MAX = 2000;

/**
 * @param {{name: string}} one
 * @param {{name: string}} other
 */
const byName = (one, other) => naturally(one.name, other.name);

/** @param {Pod} pod */
const podText = (pod) =>
  [`${pod.namespace}/${pod.name}`, pod.owner, pod.node ?? pod.nominated, pod.priorityClass, pod.uid]
    .filter(Boolean)
    .join(" ");

/** @param {Node} node */
const nodeText = (node) => [node.name, node.zone, node.pool, ...(node.taints ?? [])].filter(Boolean).join(" ");
