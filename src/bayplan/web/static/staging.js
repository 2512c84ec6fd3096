// Preemptions long enough to be seen: a victim stays in its bay, and its preemptor in front of it, for at least two
// seconds, even if both have moved on within the blink of an eye.

/** @import { Model, Pod } from "./model.js" */
/** @import { History, Preemption } from "./history.js" */

import { keyOf, takesRoom } from "./model.js";

export const SHOWN_MS = 2500;

/** @typedef {{preemptions: Preemption[], podsOn: (name: string) => Pod[], nodes: Set<string>}} Stage */

/**
 * What the plan shows of a model.
 * @param {History} history
 * @param {Model} model
 * @param {number} position
 * @param {number} now
 * @returns {Stage}
 */
export function stage(history, model, position, now) {
  const preemptions = history.shownPreemptions(model, position, now - SHOWN_MS);
  const nodes = new Set(preemptions.map(({ node }) => node));
  /** @param {string} name */
  const podsOn = (name) => {
    const pods = [...model.podsOn(name)];
    return nodes.has(name) ? staged(name, pods, model, preemptions) : pods;
  };
  return { preemptions, podsOn, nodes };
}

/**
 * @param {string} name
 * @param {Pod[]} pods
 * @param {Model} model
 * @param {Preemption[]} preemptions
 * @returns {Pod[]}
 */
function staged(name, pods, model, preemptions) {
  const shown = new Map(pods.map((pod) => [pod.uid, pod]));
  for (const { node, victim, by } of preemptions) {
    if (node !== name) continue;
    const there = shown.get(victim.uid);
    shown.set(victim.uid, asVictim(there ?? victim, name));
    const preemptor = shown.get(by);
    if (preemptor && takesRoom(preemptor))
      shown.set(by, { ...preemptor, node: undefined, nominated: name, phase: "Pending" });
  }
  return [...shown.values()].filter((pod) => !replaced(pod, model, shown));
}

/**
 * @param {Pod} pod
 * @param {string} node
 * @returns {Pod}
 */
const asVictim = (pod, node) => ({
  ...pod,
  node,
  phase: "Running",
  target: "PreemptionByScheduler",
  endsAt: pod.endsAt ?? "now",
});

/**
 * A victim whose name another pod has by now, as those of StatefulSets do, and which is on this node too.
 * @param {Pod} pod
 * @param {Model} model
 * @param {Map<string, Pod>} shown
 */
function replaced(pod, model, shown) {
  const current = model.pods.get(keyOf(pod));
  return current !== undefined && current.uid !== pod.uid && shown.has(current.uid);
}
