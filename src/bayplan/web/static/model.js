// What the cluster is at one moment: tables of digests as the server sends them (digests.py), and what can be counted in
// step with them, so that a change costs the same however many pods there are.

/**
 * @typedef {object} Node
 * @property {string} name
 * @property {string} [zone]
 * @property {string} [pool]
 * @property {number} [cpu] in thousandths
 * @property {number} [memory] in bytes
 * @property {number} [pods]
 * @property {boolean} [cordoned]
 * @property {string} [notReady]
 * @property {string[]} [taints]
 */
/**
 * @typedef {object} Pod
 * @property {string} namespace
 * @property {string} name
 * @property {string} uid
 * @property {string} [node]
 * @property {string} [nominated]
 * @property {number} [cpu]
 * @property {number} [memory]
 * @property {number} [priority]
 * @property {string} [priorityClass]
 * @property {string} [phase]
 * @property {boolean} [ready]
 * @property {string} [waitsFor]
 * @property {string[]} [gates]
 * @property {string} [endsAt]
 * @property {string} [target]
 * @property {string} [owner]
 * @property {string} [group] the key of its pod group
 * @property {string} [created]
 */
/** @typedef {{state?: string, until?: number, attempts?: number}} Waiting */
/**
 * @typedef {object} ClusterEvent
 * @property {string} namespace
 * @property {string} name
 * @property {string} [type]
 * @property {string} [reason]
 * @property {string} [message]
 * @property {string} [about]
 * @property {string} [aboutUid]
 * @property {string} [by] the uid of the preemptor
 * @property {string} [node] of a preemption
 * @property {number} [count]
 * @property {string} [at]
 */
/** @typedef {{namespace: string, name: string, allowed?: number, healthy?: number, desired?: number, expected?: number}} Budget */
/** @typedef {{kind: string, namespace: string, name: string, replicas: number, ready: number}} Workload */
/**
 * @typedef {object} PodGroup
 * @property {string} namespace
 * @property {string} name
 * @property {string} [uid]
 * @property {number} [minCount] of a gang
 * @property {boolean} [goesAsAWhole] whether whoever preempts one member preempts all
 * @property {boolean} [placed] whether it was scheduled once
 * @property {string} [waitsFor]
 */
/** @typedef {{name: string, value: number, created?: string}} PriorityClass */
/** @typedef {{name: string, created?: string}} Namespace */
/** @typedef {Record<string, Record<string, any>>} Tables digests by table and key; null for what is gone */
/** @typedef {{table: string, key: string, before: any, now: any}} Change */
/** @typedef {"cpu" | "memory"} Resource */

const TABLES = ["nodes", "pods", "queue", "events", "budgets", "classes", "workloads", "namespaces", "podGroups"];

export class Model {
  /** @type {Map<string, Node>} */
  nodes = new Map();
  /** @type {Map<string, Pod>} */
  pods = new Map();
  /** @type {Map<string, Waiting>} */
  queue = new Map();
  /** @type {Map<string, ClusterEvent>} those heard of last come last */
  events = new Map();
  /** @type {Map<string, Budget>} */
  budgets = new Map();
  /** @type {Map<string, PriorityClass>} */
  classes = new Map();
  /** @type {Map<string, Workload>} */
  workloads = new Map();
  /** @type {Map<string, Namespace>} */
  namespaces = new Map();
  /** @type {Map<string, PodGroup>} */
  podGroups = new Map();

  /** @type {Map<string, Pod>} pods without a node */
  pending = new Map();
  /** @type {Map<string, Pod>} pods that preemption evicts */
  victims = new Map();
  /** @type {Map<string, number>} pods by the name of their class and their priority */
  ranks = new Map();
  placed = 0;
  requested = { cpu: 0, memory: 0 };
  allocatable = { cpu: 0, memory: 0 };

  /** @type {Map<string, Map<string, Pod>>} */
  #byNode = new Map();
  /** @type {Map<string, Map<string, Pod>>} */
  #byGroup = new Map();

  /**
   * The pods that a node has, and those that are nominated to it.
   * @param {string} name
   * @returns {Iterable<Pod>}
   */
  podsOn(name) {
    return this.#byNode.get(name)?.values() ?? [];
  }

  /**
   * Pods that say they belong to a group, whether or not there is such a group.
   * @param {string} key
   * @returns {Iterable<Pod>}
   */
  membersOf(key) {
    return this.#byGroup.get(key)?.values() ?? [];
  }

  get hasGroups() {
    return this.podGroups.size + this.#byGroup.size > 0;
  }

  /** Keys of all pod groups, also of those that only pods speak of. */
  get groupKeys() {
    return new Set([...this.podGroups.keys(), ...this.#byGroup.keys()]);
  }

  /** @returns {Model} */
  copy() {
    const made = new Model();
    for (const table of TABLES) for (const [key, value] of this.table(table)) made.set(table, key, value);
    return made;
  }

  /**
   * @param {string} name
   * @returns {Map<string, any>}
   */
  table(name) {
    return /** @type {any} */ (this)[name];
  }

  /**
   * Stores a digest, or takes it away if it is null; gives back what was there.
   * @param {string} name of the table
   * @param {string} key
   * @param {any} value
   */
  set(name, key, value) {
    const table = this.table(name);
    const before = table.get(key) ?? null;
    if (value === null || name === "events") table.delete(key);
    if (value !== null) table.set(key, value);
    if (name === "pods") {
      this.#count(before, key, -1);
      this.#count(value, key, 1);
    } else if (name === "nodes") {
      for (const resource of /** @type {Resource[]} */ (["cpu", "memory"])) {
        this.allocatable[resource] += (value?.[resource] ?? 0) - (before?.[resource] ?? 0);
      }
    }
    return before;
  }

  /**
   * Makes the changes of a message.
   * @param {Tables} tables
   * @returns {Change[]} with what was there before
   */
  apply(tables) {
    const changes = [];
    for (const [table, rows] of Object.entries(tables)) {
      for (const [key, now] of Object.entries(rows))
        changes.push({ table, key, before: this.set(table, key, now), now });
    }
    return changes;
  }

  /**
   * What must change to get to a snapshot.
   * @param {Tables} snapshot
   * @returns {Tables}
   */
  changesTo(snapshot) {
    /** @type {Tables} */
    const found = {};
    for (const table of TABLES) {
      const wanted = snapshot[table] ?? {};
      /** @type {Record<string, any>} */
      const changed = {};
      for (const key of this.table(table).keys()) if (!(key in wanted)) changed[key] = null;
      for (const [key, value] of Object.entries(wanted)) {
        if (JSON.stringify(this.table(table).get(key)) !== JSON.stringify(value)) changed[key] = value;
      }
      if (Object.keys(changed).length) found[table] = changed;
    }
    return found;
  }

  /**
   * @param {Pod | null} pod
   * @param {string} key
   * @param {1 | -1} sign
   */
  #count(pod, key, sign) {
    if (!pod) return;
    for (const [index, belongs] of /** @type {const} */ ([
      [this.pending, isPending(pod)],
      [this.victims, isVictim(pod)],
    ])) {
      if (belongs && sign > 0) index.set(key, pod);
      else if (belongs) index.delete(key);
    }
    this.#countOnNode(pod, key, sign);
    countIn(this.#byGroup, pod.group, pod, key, sign);
    const rank = rankOf(pod);
    const count = (this.ranks.get(rank) ?? 0) + sign;
    if (count > 0) this.ranks.set(rank, count);
    else this.ranks.delete(rank);
    if (!takesRoom(pod)) return;
    this.placed += sign;
    this.requested.cpu += sign * (pod.cpu ?? 0);
    this.requested.memory += sign * (pod.memory ?? 0);
  }

  /**
   * @param {Pod} pod
   * @param {string} key
   * @param {1 | -1} sign
   */
  #countOnNode(pod, key, sign) {
    const name = takesRoom(pod) ? pod.node : isPending(pod) ? pod.nominated : undefined;
    countIn(this.#byNode, name, pod, key, sign);
  }
}

/**
 * @param {Map<string, Map<string, Pod>>} index
 * @param {string | undefined} name under which the pod is found; none if it is not in the index
 * @param {Pod} pod
 * @param {string} key
 * @param {1 | -1} sign
 */
function countIn(index, name, pod, key, sign) {
  if (!name) return;
  const pods = index.get(name) ?? new Map();
  if (sign > 0) pods.set(key, pod);
  else pods.delete(key);
  if (pods.size) index.set(name, pods);
  else index.delete(name);
}

// Questions that several views ask.

/** @param {Pod} pod */
export const isOver = (pod) => pod.phase === "Succeeded" || pod.phase === "Failed";
/** @param {Pod} pod */
export const isPending = (pod) => !pod.node && !isOver(pod);
/** @param {Pod} pod */
export const takesRoom = (pod) => Boolean(pod.node) && !isOver(pod);
/** @param {Pod} pod */
export const isEnding = (pod) => Boolean(pod.endsAt);
/** @param {Pod} pod */
export const isVictim = (pod) => pod.target === "PreemptionByScheduler";
/** @param {Pod} pod */
export const priorityOf = (pod) => pod.priority ?? 0;
/** @param {{namespace?: string, name: string}} object */
export const keyOf = (object) => `${object.namespace ?? ""}/${object.name}`;
/** @param {Pod} pod */
export const rankOf = (pod) => `${pod.priorityClass ?? ""} ${priorityOf(pod)}`;

/**
 * The state of a pod in one word; filters know these.
 * @param {Pod} pod
 */
export function stateOf(pod) {
  if (isVictim(pod)) return "preempted";
  if (isEnding(pod)) return "terminating";
  if (isOver(pod)) return "finished";
  if (pod.node) return pod.ready ? "running" : "starting";
  if (pod.nominated) return "nominated";
  return pod.gates ? "gated" : "pending";
}

export const STATES = ["pending", "gated", "nominated", "starting", "running", "terminating", "preempted"];
