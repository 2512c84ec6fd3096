// Pod groups: how many members have come, where they are, and how the group stands, in words. Says only what the group's
// condition, its pods and their Events say.

/** @import { Model, PodGroup } from "./model.js" */
/** @import { PodsByUid } from "./uids.js" */
/** @typedef {{bound: number, nominated: number, waiting: number, terminating: number, victims: number}} Members */
/** @typedef {{count: number, at: string, message: string}} Eviction */
/** @typedef {"placed" | "preempted" | "waiting"} State */
/**
 * @typedef {object} Row
 * @property {string} key
 * @property {string} namespace
 * @property {string} name
 * @property {number} minCount 0 if it is no gang
 * @property {Members} members
 * @property {State} state
 * @property {string} words
 */

import { element } from "./dom.js";
import { clockTime, counted, naturally } from "./format.js";
import { isEnding, isOver, isVictim } from "./model.js";

const PARTS = /** @type {const} */ (["bound", "nominated", "waiting", "terminating"]);

/**
 * @param {Model} model
 * @param {PodsByUid} known
 * @returns {Row[]} in the order of their names
 */
export function podGroupRows(model, known) {
  const keys = [...model.groupKeys].sort(naturally);
  const evictions = keys.length ? latestEvictions(model, known) : new Map();
  return keys.map((key) => {
    const [namespace, name] = key.split("/");
    const group = model.podGroups.get(key);
    const members = membersOf(model, key);
    const [state, words] = standing(group, members, evictions.get(key));
    return { key, namespace, name, minCount: group?.minCount ?? 0, members, state, words };
  });
}

/**
 * @param {Model} model
 * @param {string} key
 * @returns {Members}
 */
function membersOf(model, key) {
  const members = { bound: 0, nominated: 0, waiting: 0, terminating: 0, victims: 0 };
  for (const pod of model.membersOf(key)) {
    if (isOver(pod)) continue;
    if (isVictim(pod)) members.victims += 1;
    members[isEnding(pod) ? "terminating" : pod.node ? "bound" : pod.nominated ? "nominated" : "waiting"] += 1;
  }
  return members;
}

/** @param {Members} members */
const joined = ({ bound, nominated, waiting }) => bound + nominated + waiting;

/**
 * What was preempted last of each group: all of it has the same message, which names the preemptor.
 * @param {Model} model
 * @param {PodsByUid} known
 * @returns {Map<string, Eviction>}
 */
function latestEvictions(model, known) {
  /** @type {Map<string, Eviction>} */
  const found = new Map();
  for (const { reason, aboutUid = "", message = "", at = "" } of model.events.values()) {
    const group = reason === "Preempted" && known.pod(aboutUid)?.group;
    if (!group) continue;
    const last = found.get(group);
    if (last?.message === message) {
      last.count += 1;
      if (at > last.at) last.at = at;
    } else if (!last || at > last.at) found.set(group, { count: 1, at, message });
  }
  return found;
}

/**
 * @param {PodGroup | undefined} group
 * @param {Members} members
 * @param {Eviction | undefined} eviction
 * @returns {[State, string]}
 */
function standing(group, members, eviction) {
  const here = joined(members);
  if (!group) return ["waiting", "waiting: there is no PodGroup of this name"];
  const preempted = group.goesAsAWhole ? "preempted together" : "preempted";
  if (members.victims) return ["preempted", `${preempted}: ${counted(members.victims, "member")}`];
  const needed = group.minCount ?? 1;
  if (group.placed) {
    if (members.bound >= needed) return ["placed", placedWords(group, here - members.bound)];
    if (eviction) {
      const words = `${preempted} at ${clockTime(eviction.at)}: ${counted(eviction.count, "member")}`;
      return ["preempted", words];
    }
    return ["waiting", `placed once; ${members.bound} of ${needed} bound now`];
  }
  if (here < needed) {
    return ["waiting", group.minCount ? `waiting for the quorum: ${here} of ${needed}` : "no members yet"];
  }
  return ["waiting", group.waitsFor ? `waiting: ${group.waitsFor}` : "waiting for its first attempt"];
}

/**
 * @param {PodGroup} group
 * @param {number} others members that have no node
 */
function placedWords(group, others) {
  const placed = group.minCount ? "placed together" : "placed";
  return others ? `${placed}; ${others} more waiting` : placed;
}

/**
 * @param {Row} row
 * @param {boolean} isChosen
 * @param {(key: string) => void} choose
 */
export function podGroupItem({ key, namespace, name, minCount, members, state, words }, isChosen, choose) {
  const here = joined(members);
  const count = minCount ? `${here} of ${minCount}` : counted(here, "member");
  const shown = PARTS.filter((part) => members[part]);
  const said = shown.map((part) => `${members[part]} ${part}`).join(", ") || "no members";
  return element(
    "li.pod-group",
    { data: { state } },
    element(
      "button",
      {
        type: "button",
        "aria-pressed": String(isChosen),
        title: "Show the members of this group",
        onclick: () => choose(key),
      },
      element("strong", {}, name),
      element("span.count", {}, count),
    ),
    element("div.members", { role: "img", "aria-label": said }, ...bar(members, minCount)),
    element("span.about", {}, `${namespace} · ${said}`),
    element("span.words", {}, words),
  );
}

/**
 * As wide as the group is to be: members that have not come yet leave it empty.
 * @param {Members} members
 * @param {number} minCount
 */
function bar(members, minCount) {
  const parts = PARTS.map((part) => segment(part, members[part]));
  const missing = minCount - joined(members) - members.terminating;
  return missing > 0 ? [...parts, segment("missing", missing)] : parts;
}

/**
 * @param {string} kind
 * @param {number} share
 */
function segment(kind, share) {
  const made = element(`span.${kind}`);
  made.style.flexGrow = String(share);
  return made;
}
