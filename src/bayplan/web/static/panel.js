// The panel of one pod or one node: what it is, what one can do to it, and for a pod the answer to "why".

/** @import { History } from "./history.js" */
/** @import { Model, Node as ClusterNode, Pod, Resource } from "./model.js" */
/** @typedef {(text: string) => void} Tell */

import { cordon, deletePod, drain, setReady } from "./actions.js";
import { byId, element } from "./dom.js";
import { explanationParts } from "./explanation.js";
import { amount, digits, percent, requests } from "./format.js";
import { isEnding, isPending, isVictim, keyOf, priorityOf, takesRoom } from "./model.js";
import { waiting } from "./queue.js";
import { request } from "./session.js";

export class Panel {
  #tell;
  #version;
  #history;
  /** @type {{kind: "pod" | "node", key: string} | null} */
  #shown = null;
  #signature = "";
  /** @type {HTMLElement | null} */
  #cameFrom = null;
  #answer = element("div.answer");

  /**
   * @param {Tell} tell
   * @param {() => number | null} version that is looked at, if it is not the present
   * @param {History} history
   */
  constructor(tell, version, history) {
    this.#tell = tell;
    this.#version = version;
    this.#history = history;
  }

  /** The key of the pod that is shown, if it is one. */
  get pod() {
    return this.#shown?.kind === "pod" ? this.#shown.key : null;
  }

  /**
   * @param {"pod" | "node"} kind
   * @param {string} key
   * @param {Model} model
   */
  open(kind, key, model) {
    if (byId("panel").hidden) this.#cameFrom = /** @type {HTMLElement | null} */ (document.activeElement);
    this.#shown = { kind, key };
    this.#signature = "";
    byId("panel").hidden = false;
    byId("side").hidden = true;
    if (kind === "pod") this.#explain(key, String(this.#version() ?? ""));
    this.draw(model);
    byId("panel").focus();
  }

  close() {
    if (byId("panel").hidden) return;
    byId("panel").hidden = true;
    byId("side").hidden = false;
    this.#shown = null;
    if (this.#cameFrom?.isConnected) this.#cameFrom.focus();
  }

  /** @param {Model} model */
  draw(model) {
    if (!this.#shown) return;
    const { kind, key } = this.#shown;
    const pod = kind === "pod" ? model.pods.get(key) : undefined;
    const node = kind === "node" ? model.nodes.get(key) : undefined;
    const signature = JSON.stringify([pod, node, model.queue.get(key), node && podsOn(model, node).map(keyOf)]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    const content = pod ? this.#pod(pod, model) : node ? this.#node(node, model) : this.#gone(key);
    const facts = { type: "button", "aria-label": "Close", onclick: () => this.close() };
    byId("panel").replaceChildren(element("button.close", facts, "×"), ...content);
  }

  /** @param {string} key */
  #gone(key) {
    const said = element("p", {}, "It does not exist at this point in time.");
    return [element("h2", {}, key.replace(/^.*\//, "")), said, this.#answer];
  }

  // A pod.

  /**
   * @param {Pod} pod
   * @param {Model} model
   */
  #pod(pod, model) {
    const where = this.#version() === null ? (model.queue.get(keyOf(pod)) ?? {}) : null;
    const parts = [
      element("h2", {}, pod.name),
      element("p.about", {}, `Pod in ${pod.namespace}${pod.owner ? ` · ${pod.owner}` : ""}`),
      facts([
        ["State", wordsFor(pod)],
        ["Node", pod.node ?? (pod.nominated ? `nominated to ${pod.nominated}` : "none yet")],
        ["Priority", `${digits(priorityOf(pod))}${pod.priorityClass ? ` (${pod.priorityClass})` : ""}`],
        ["Requests", requests(pod)],
        ["Preempted", this.#victims(pod).join(", ")],
        ["Preempted by", this.#preemptor(pod)],
      ]),
      isPending(pod) ? element("div.queued", {}, waiting(pod, where)) : null,
      this.#buttons([["Delete", () => deletePod(pod)]]),
      element("h3", {}, isPending(pod) ? "Why pending" : "Why here"),
      this.#answer,
    ];
    return parts.filter((part) => part !== null);
  }

  /**
   * Whom the pod has pushed out.
   * @param {Pod} pod
   */
  #victims({ uid }) {
    const victims = [...this.#history.preemptions.values()].filter(({ by }) => by === uid);
    return victims.map(({ victim }) => victim.name);
  }

  /** @param {Pod} pod */
  #preemptor({ uid }) {
    const { by } = this.#history.preemptions.get(uid) ?? {};
    return by && (this.#history.known.name(by) ?? by);
  }

  /**
   * @param {string} key
   * @param {string} when
   */
  async #explain(key, when) {
    const [namespace, name] = key.split("/").map(encodeURIComponent);
    this.#answer.replaceChildren(element("p.about", {}, "Computing…"));
    this.#answer.setAttribute("aria-busy", "true");
    let parts;
    try {
      const answer = await request("GET", `/dashboard/explain/${namespace}/${name}?when=${when}`);
      parts = explanationParts(answer, (/** @type {string} */ version) => this.#explain(key, version));
    } catch (error) {
      parts = [element("p.problem", {}, messageOf(error))];
    }
    if (this.#shown?.key !== key) return;
    this.#answer.removeAttribute("aria-busy");
    this.#answer.replaceChildren(...parts);
  }

  // A node.

  /**
   * @param {ClusterNode} node
   * @param {Model} model
   */
  #node(node, model) {
    const pods = podsOn(model, node);
    /** @param {Resource} resource */
    const used = (resource) => pods.reduce((sum, pod) => sum + (pod[resource] ?? 0), 0);
    /** @param {Resource} resource */
    const share = (resource) =>
      `${amount(resource, used(resource))} of ${amount(resource, node[resource])} requested (${percent(used(resource), node[resource])})`;
    return [
      element("h2", {}, node.name),
      element(
        "p.about",
        {},
        ["Node", node.zone && `in ${node.zone}`, node.pool && `of pool ${node.pool}`].filter(Boolean).join(" "),
      ),
      facts([
        ["State", node.notReady ? `Ready is ${node.notReady}` : node.cordoned ? "ready, cordoned" : "ready"],
        ["cpu", share("cpu")],
        ["Memory", share("memory")],
        ["Pods", `${pods.length} of ${node.pods ?? 0}`],
        ["Taints", (node.taints ?? []).join(", ")],
      ]),
      this.#buttons([
        [node.cordoned ? "Uncordon" : "Cordon", () => cordon(node.name, !node.cordoned)],
        ["Drain", () => drain(node.name, pods, this.#tell)],
        [node.notReady ? "Recover" : "Fail", () => setReady(node.name, Boolean(node.notReady))],
      ]),
      element("h3", {}, "Pods"),
      element("ul.victims", {}, pods.toSorted((one, other) => priorityOf(other) - priorityOf(one)).map(podItem)),
    ];
  }

  /** @param {[string, () => Promise<unknown>][]} actions */
  #buttons(actions) {
    const made = actions.map(([name, act]) => {
      const press = () => act().catch((error) => this.#tell(messageOf(error)));
      return element("button", { type: "button", onclick: press }, name);
    });
    return element("div.buttons", {}, made);
  }
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** @param {Pod} pod */
function wordsFor(pod) {
  if (isVictim(pod)) return "preempted, terminating";
  if (isEnding(pod)) return "terminating";
  return isPending(pod) ? "pending" : pod.phase;
}

/**
 * @param {Model} model
 * @param {ClusterNode} node
 */
const podsOn = (model, node) => [...model.podsOn(node.name)].filter(takesRoom);

/** @param {Pod} pod */
function podItem(pod) {
  const open = element("button.link", { type: "button", data: { pod: keyOf(pod) } }, pod.name);
  const size = ` priority ${digits(priorityOf(pod))}, ${amount("cpu", pod.cpu)} cpu`;
  return element("li", {}, open, element("span.about", {}, size));
}

/** @param {[string, string | undefined][]} pairs */
function facts(pairs) {
  const shown = pairs.filter(([, value]) => value);
  return element(
    "dl.facts",
    {},
    shown.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
  );
}
