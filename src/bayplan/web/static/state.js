// What the cluster is, and what it was: tables of digests, and a bounded history of the changes to them.

const TABLES = ["nodes", "pods", "queue", "events", "budgets", "classes", "workloads", "namespaces"];
const BATCHES_MAX = 2000;
const CHANGES_MAX = 60000;

export const emptyModel = () => Object.fromEntries(TABLES.map((table) => [table, new Map()]));

const copyOf = (model) => Object.fromEntries(TABLES.map((table) => [table, new Map(model[table])]));

/** Makes the changes of a batch; gives them back with what was there before. */
export function apply(model, tables) {
  const changes = [];
  for (const table of Object.keys(tables)) {
    for (const [key, now] of Object.entries(tables[table])) {
      const before = model[table].get(key) ?? null;
      if (now === null) model[table].delete(key);
      else model[table].set(key, now);
      changes.push({ table, key, before, now });
    }
  }
  return changes;
}

/** A snapshot as the changes that lead to it, so that a reconnection leaves no gap in the history. */
function changesTo(model, tables) {
  const found = {};
  for (const table of TABLES) {
    const wanted = tables[table] ?? {};
    const changed = {};
    for (const key of model[table].keys()) if (!(key in wanted)) changed[key] = null;
    for (const [key, value] of Object.entries(wanted)) {
      if (JSON.stringify(model[table].get(key)) !== JSON.stringify(value)) changed[key] = value;
    }
    if (Object.keys(changed).length) found[table] = changed;
  }
  return found;
}

const sizeOf = (batch) => Object.values(batch.tables).reduce((sum, table) => sum + Object.keys(table).length, 0);

export class History {
  constructor() {
    this.present = emptyModel();
    this.batches = [];
    this.begun = null;
    this.#base = null;
  }

  #base;
  #size = 0;

  /** Takes a message of the feed; gives the changes, or null if everything is new. */
  take(event, message) {
    if (this.#base === null) {
      apply(this.present, message.tables);
      this.#base = copyOf(this.present);
      this.begun = { at: message.at, version: message.version };
      return null;
    }
    const tables = event === "snapshot" ? changesTo(this.present, message.tables) : message.tables;
    const isMarked = Object.values(tables.events ?? {}).some((seen) => seen?.reason === "Preempted");
    const batch = { at: message.at, version: message.version, tables, isMarked };
    this.batches.push(batch);
    this.#size += sizeOf(batch);
    while (this.batches.length > BATCHES_MAX || (this.#size > CHANGES_MAX && this.batches.length > 1)) this.#forget();
    return apply(this.present, tables);
  }

  #forget() {
    const oldest = this.batches.shift();
    this.#size -= sizeOf(oldest);
    apply(this.#base, oldest.tables);
    this.begun = { at: oldest.at, version: oldest.version };
  }

  /** The cluster after so many of the remembered batches. */
  at(position) {
    const model = copyOf(this.#base ?? emptyModel());
    for (const batch of this.batches.slice(0, position)) apply(model, batch.tables);
    return model;
  }

  /** When that was, and at which version. */
  moment(position) {
    return position > 0 ? this.batches[position - 1] : this.begun;
  }
}

// Questions that several views ask.

export const isPending = (pod) => !pod.node && pod.phase !== "Succeeded" && pod.phase !== "Failed";
export const takesRoom = (pod) => Boolean(pod.node) && pod.phase !== "Succeeded" && pod.phase !== "Failed";
export const isEnding = (pod) => Boolean(pod.endsAt);
export const isVictim = (pod) => pod.target === "PreemptionByScheduler";
export const priorityOf = (pod) => pod.priority ?? 0;
export const keyOf = (object) => `${object.namespace ?? ""}/${object.name}`;
