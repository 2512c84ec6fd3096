// The panel of one pod or one node: what it is, what one can do to it, and for a pod the answer to "why".

import { cordon, deletePod, drain, setReady } from "./actions.js";
import { byId, element } from "./dom.js";
import { amount, percent, requests } from "./format.js";
import { explanationParts } from "./explanation.js";
import { waiting } from "./queue.js";
import { request } from "./session.js";
import { isEnding, isPending, isVictim, keyOf, priorityOf, takesRoom } from "./state.js";

export class Panel {
  constructor(tell, moment) {
    this.#tell = tell;
    this.#moment = moment;
  }

  #tell;
  #moment;
  #shown = null;
  #signature = "";
  #cameFrom = null;
  #answer = element("div.answer");

  /** The key of the pod that is shown, if it is one. */
  get pod() {
    return this.#shown?.kind === "pod" ? this.#shown.key : null;
  }

  open(kind, key, model) {
    if (byId("panel").hidden) this.#cameFrom = document.activeElement;
    this.#shown = { kind, key };
    this.#signature = "";
    byId("panel").hidden = false;
    byId("side").hidden = true;
    if (kind === "pod") this.#explain(this.#moment() ?? "");
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

  draw(model) {
    if (!this.#shown) return;
    const { kind, key } = this.#shown;
    const object = (kind === "pod" ? model.pods : model.nodes).get(key);
    const signature = JSON.stringify([object, kind === "pod" ? model.queue.get(key) : podsOn(model, object).length]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    const content = object ? (kind === "pod" ? this.#pod(object, model) : this.#node(object, model)) : this.#gone(key);
    byId("panel").replaceChildren(element("button.close", { type: "button", "aria-label": "Close", onclick: () => this.close() }, "×"), ...content);
  }

  #gone(key) {
    return [element("h2", {}, key.replace(/^.*\//, "")), element("p", {}, "It does not exist at this point in time."), this.#answer];
  }

  // A pod.

  #pod(pod, model) {
    const state = isVictim(pod) ? "preempted, terminating" : isEnding(pod) ? "terminating" : isPending(pod) ? "pending" : pod.phase;
    return [
      element("h2", {}, pod.name),
      element("p.about", {}, `Pod in ${pod.namespace}${pod.owner ? ` · ${pod.owner}` : ""}`),
      facts([
        ["State", state],
        ["Node", pod.node ?? (pod.nominated ? `nominated to ${pod.nominated}` : "none yet")],
        ["Priority", `${priorityOf(pod).toLocaleString("en")}${pod.priorityClass ? ` (${pod.priorityClass})` : ""}`],
        ["Requests", requests(pod)],
        ["Preempted", preemptedBy(pod, model)],
      ]),
      isPending(pod) ? element("div.queued", {}, waiting(pod, model.queue.get(keyOf(pod)) ?? {})) : null,
      this.#buttons([["Delete", () => deletePod(pod)]]),
      element("h3", {}, isPending(pod) ? "Why pending" : "Why here"),
      this.#answer,
    ].filter(Boolean);
  }

  async #explain(when) {
    const { key } = this.#shown;
    const [namespace, name] = key.split("/").map(encodeURIComponent);
    this.#answer.replaceChildren(element("p.about", {}, "Computing…"));
    this.#answer.setAttribute("aria-busy", "true");
    let parts;
    try {
      const answer = await request("GET", `/dashboard/explain/${namespace}/${name}?when=${when}`);
      parts = explanationParts(answer, answer.pod, (version) => this.#explain(version));
    } catch (error) {
      parts = [element("p.problem", {}, error.message)];
    }
    if (this.#shown?.key !== key) return;
    this.#answer.removeAttribute("aria-busy");
    this.#answer.replaceChildren(...parts);
  }

  // A node.

  #node(node, model) {
    const pods = podsOn(model, node);
    const used = (resource) => pods.reduce((sum, pod) => sum + (pod[resource] ?? 0), 0);
    const share = (resource) =>
      `${amount(resource, used(resource))} of ${amount(resource, node[resource])} requested (${percent(used(resource), node[resource])})`;
    return [
      element("h2", {}, node.name),
      element("p.about", {}, `Node${node.zone ? ` in ${node.zone}` : ""}`),
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
      element("ul.victims", {}, pods.sort((one, other) => priorityOf(other) - priorityOf(one)).map((pod) =>
        element("li", {}, element("button.link", { type: "button", data: { pod: keyOf(pod) } }, pod.name),
          element("span.about", {}, ` priority ${priorityOf(pod)}, ${amount("cpu", pod.cpu)} cpu`)))),
    ];
  }

  #buttons(actions) {
    const made = actions.map(([name, act]) => {
      const press = async () => {
        try {
          await act();
        } catch (error) {
          this.#tell(error.message);
        }
      };
      return element("button", { type: "button", onclick: press }, name);
    });
    return element("div.buttons", {}, made);
  }
}

function podsOn(model, node) {
  return node ? [...model.pods.values()].filter((pod) => pod.node === node.name && takesRoom(pod)) : [];
}

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value);
  return element("dl.facts", {}, shown.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/** Whom the pod has pushed out, as the victims' events say. */
function preemptedBy(pod, model) {
  const victims = [...model.events.values()]
    .filter((event) => event.reason === "Preempted" && event.message.includes(pod.uid))
    .map((event) => event.about.replace("Pod ", ""));
  return [...new Set(victims)].join(", ");
}
