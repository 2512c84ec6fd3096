// Pods by their uid, also those that are gone: Events name a preemptor, a pod or a group of pods, by its uid, and people
// know it by its name.

/** @import { Pod } from "./model.js" */

const KNOWN_MAX = 60_000;
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

export class PodsByUid {
  /** @type {Map<string, Pod>} as they were last, those heard of last at the end */
  #pods = new Map();
  /** @type {Map<string, string>} names of pod groups, and those that only Events have said */
  #names = new Map();

  /**
   * @param {string} table
   * @param {any} row
   */
  learn(table, row) {
    if (!row) return;
    if (table === "pods") remember(this.#pods, row.uid, row);
    if (table === "podGroups" && row.uid) remember(this.#names, row.uid, row.name);
    if (table === "events" && row.aboutUid && row.about?.startsWith("Pod ")) {
      remember(this.#names, row.aboutUid, row.about.slice("Pod ".length));
    }
  }

  /**
   * @param {string} uid
   * @returns {Pod | null}
   */
  pod(uid) {
    return this.#pods.get(uid) ?? null;
  }

  /**
   * @param {string} uid
   * @returns {string | undefined}
   */
  name(uid) {
    return this.#pods.get(uid)?.name ?? this.#names.get(uid);
  }

  /**
   * A message with the names of pods and groups in place of their uids, as far as they are known.
   * @param {string} message
   */
  named(message) {
    return message.replace(UID, (uid) => this.name(uid) ?? uid);
  }
}

/**
 * @template T
 * @param {Map<string, T>} map
 * @param {string} key
 * @param {T} value
 */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > KNOWN_MAX) map.delete(map.keys().next().value ?? "");
}
