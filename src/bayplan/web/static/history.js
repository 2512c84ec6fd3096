// What the cluster was: the changes that led to the present, and a way back through them. Bounded; the oldest changes are
// forgotten first.

/** @import { Change, Pod, Tables } from "./model.js" */
/** @typedef {{at: number, version: number}} Moment in milliseconds */
/** @typedef {{at: number, node: string, victim: Pod, by: string, preemptor: Pod | null}} Preemption */
/** @typedef {Moment & {changes: Change[], preemptions: Preemption[]}} Batch */
/** @typedef {Moment & {tables: Tables}} Message */

import { Model } from "./model.js";
import { PodsByUid } from "./uids.js";

const BATCHES_MAX = 3000;
const CHANGES_MAX = 80_000;

export class History {
  present = new Model();
  /** @type {Batch[]} oldest first */
  batches = [];
  /** @type {Moment | null} before the oldest batch */
  begun = null;
  /** Of the oldest batch: it has this number as long as it is remembered, and those after it the next ones. */
  offset = 0;
  known = new PodsByUid();
  /** @type {Map<string, Preemption>} by the uid of the victim */
  preemptions = new Map();

  #size = 0;
  /** @type {{model: Model, position: number} | null} the point in the past that was looked at last */
  #cursor = null;

  /**
   * Takes a message of the feed.
   * @param {string} event
   * @param {Message} message
   * @returns {Change[] | null} null if everything is new
   */
  take(event, message) {
    if (this.begun === null) {
      for (const { table, now } of this.present.apply(message.tables)) this.known.learn(table, now);
      this.begun = { at: message.at, version: message.version };
      return null;
    }
    const tables = event === "snapshot" ? this.present.changesTo(message.tables) : message.tables;
    const changes = this.present.apply(tables);
    this.batches.push(this.#batch(message, changes));
    this.#size += changes.length;
    while (this.batches.length > BATCHES_MAX || (this.#size > CHANGES_MAX && this.batches.length > 1)) this.#forget();
    return changes;
  }

  /**
   * Puts what was before this page was opened in front of what it has seen.
   * @param {{base: Tables, batches: Message[]}} past
   */
  prepend(past) {
    /** @type {Map<string, any>} */
    const last = new Map();
    for (const [table, rows] of Object.entries(past.base)) {
      for (const [key, row] of Object.entries(rows)) {
        last.set(`${table} ${key}`, row);
        this.known.learn(table, row);
      }
    }
    const batches = past.batches.map((message) => this.#batch(message, changesAfter(last, message.tables)));
    if (!batches.length) return;
    const [first] = batches;
    this.begun = { at: first.at, version: first.version - 1 };
    this.batches.unshift(...batches);
    this.#size += batches.reduce((sum, { changes }) => sum + changes.length, 0);
    this.#cursor = null;
    this.offset -= batches.length;
  }

  /**
   * @param {Moment} moment
   * @param {Change[]} changes
   * @returns {Batch}
   */
  #batch({ at, version }, changes) {
    for (const { table, before, now } of changes) {
      this.known.learn(table, before);
      this.known.learn(table, now);
    }
    const preemptions = [];
    for (const { table, before, now } of changes) {
      if (table !== "events" || before || !now?.by) continue;
      const victim = this.known.pod(now.aboutUid ?? "");
      if (!victim) continue;
      const found = { at, node: now.node, victim, by: now.by, preemptor: this.known.pod(now.by) };
      preemptions.push(found);
      this.preemptions.set(victim.uid, found);
    }
    return { at, version, changes, preemptions };
  }

  #forget() {
    const [oldest] = this.batches.splice(0, 1);
    this.offset += 1;
    this.#size -= oldest.changes.length;
    this.begun = { at: oldest.at, version: oldest.version };
    for (const { victim } of oldest.preemptions) this.preemptions.delete(victim.uid);
    if (this.#cursor) this.#cursor.position -= 1;
    if (this.#cursor && this.#cursor.position < 0) this.#cursor = null;
  }

  /**
   * The cluster after so many of the remembered batches; good until it is asked for again.
   * @param {number} position
   * @returns {Model}
   */
  at(position) {
    const cursor = this.#cursor ?? { model: this.present.copy(), position: this.batches.length };
    while (cursor.position > position) {
      cursor.position -= 1;
      const { changes } = this.batches[cursor.position];
      for (const { table, key, before } of changes.toReversed()) cursor.model.set(table, key, before);
    }
    while (cursor.position < position) {
      for (const { table, key, now } of this.batches[cursor.position].changes) cursor.model.set(table, key, now);
      cursor.position += 1;
    }
    this.#cursor = cursor;
    return cursor.model;
  }

  /**
   * When that was, and at which version.
   * @param {number} position
   * @returns {Moment | null}
   */
  moment(position) {
    return position > 0 ? this.batches[position - 1] : this.begun;
  }

  /**
   * Preemptions that a page shows at a moment: the latest, and those whose victims are not gone yet.
   * @param {Model} model at that moment
   * @param {number} position of the last batch
   * @param {number} since when preemptions are shown in any case
   * @returns {Preemption[]}
   */
  shownPreemptions(model, position, since) {
    const found = new Set();
    for (let index = position - 1; index >= 0 && this.batches[index].at > since; index -= 1) {
      for (const preemption of this.batches[index].preemptions) found.add(preemption);
    }
    for (const { uid } of model.victims.values()) {
      const preemption = this.preemptions.get(uid);
      if (preemption) found.add(preemption);
    }
    return [...found];
  }
}

/**
 * @param {Map<string, any>} last what was there, which is brought up to date
 * @param {Tables} tables
 * @returns {Change[]}
 */
function changesAfter(last, tables) {
  const changes = [];
  for (const [table, rows] of Object.entries(tables)) {
    for (const [key, now] of Object.entries(rows)) {
      const place = `${table} ${key}`;
      changes.push({ table, key, before: last.get(place) ?? null, now });
      last.set(place, now);
    }
  }
  return changes;
}
