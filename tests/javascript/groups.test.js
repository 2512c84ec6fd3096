// How pod groups stand, from what their objects and Events say.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Filter } from "../../src/bayplan/web/static/filter.js";
import { podGroupRows } from "../../src/bayplan/web/static/groups.js";
import { Model } from "../../src/bayplan/web/static/model.js";
import { PodsByUid } from "../../src/bayplan/web/static/uids.js";

const KEY = "default/training";
const gang = (facts = {}) => ({ namespace: "default", name: "training", uid: "g", minCount: 3, ...facts });
const bound = { node: "node-1" };
const nominated = { nominated: "node-1" };
const victim = { ...bound, target: "PreemptionByScheduler", endsAt: "2026-01-01T00:00:00Z" };

/** @returns the rows of a model with this group, if any, and members with these facts. */
function rowsOf(group, members, events = {}, gone = []) {
  const model = new Model();
  const known = new PodsByUid();
  const pods = members.map((facts, at) => ({
    namespace: "default",
    name: `p-${at}`,
    uid: `u-${at}`,
    group: KEY,
    ...facts,
  }));
  for (const pod of [...pods, ...gone]) known.learn("pods", pod);
  const tables = {
    podGroups: group ? { [KEY]: group } : {},
    pods: Object.fromEntries(pods.map((pod) => [`default/${pod.name}`, pod])),
    events,
  };
  model.apply(tables);
  return podGroupRows(model, known);
}

const STANDINGS = [
  [gang(), [{}, {}], "waiting", "waiting for the quorum: 2 of 3"],
  [gang(), [{}, {}, { phase: "Succeeded" }], "waiting", "waiting for the quorum: 2 of 3"],
  [gang({ waitsFor: "no room" }), [{}, {}], "waiting", "waiting for the quorum: 2 of 3"],
  [gang(), [{}, {}, {}], "waiting", "waiting for its first attempt"],
  [gang({ waitsFor: "no room" }), [{}, {}, nominated], "waiting", "waiting: no room"],
  [gang({ placed: true }), [bound, bound, bound], "placed", "placed together"],
  [gang({ placed: true }), [bound, bound, bound, {}], "placed", "placed together; 1 more waiting"],
  [gang({ placed: true }), [bound, bound, {}], "waiting", "placed once; 2 of 3 bound now"],
  [gang({ placed: true, goesAsAWhole: true }), [victim, victim, victim], "preempted", "preempted together: 3 members"],
  [gang({ placed: true }), [victim, bound, bound, bound], "preempted", "preempted: 1 member"],
  [gang({ minCount: undefined }), [], "waiting", "no members yet"],
  [gang({ minCount: undefined, placed: true }), [bound], "placed", "placed"],
  [null, [{}], "waiting", "waiting: there is no PodGroup of this name"],
];
for (const [group, members, state, words] of STANDINGS) {
  test(`${JSON.stringify(group)} with ${JSON.stringify(members)}: ${words}`, () => {
    const [row] = rowsOf(group, members);
    assert.deepEqual([row.state, row.words], [state, words]);
  });
}

test("members are counted by where they are", () => {
  const [row] = rowsOf(gang(), [bound, nominated, {}, {}, victim, { phase: "Failed" }]);
  assert.deepEqual(row.members, { bound: 1, nominated: 1, waiting: 2, terminating: 1, victims: 1 });
});

test("that a group was preempted is said as long as Events say so, of the last time alone", () => {
  const gone = ["a", "b", "c"].map((uid) => ({ namespace: "default", name: uid, uid, group: KEY }));
  const event = (aboutUid, at, by) => ({ reason: "Preempted", aboutUid, at, message: `Preempted by podgroup ${by}` });
  const events = {
    "default/1": event("a", "2026-01-01T00:00:00Z", "first"),
    "default/2": event("b", "2026-01-01T01:00:00Z", "second"),
    "default/3": event("c", "2026-01-01T01:00:00Z", "second"),
    "default/4": event("of another group", "2026-01-01T02:00:00Z", "second"),
  };
  const [row] = rowsOf(gang({ placed: true, goesAsAWhole: true }), [], events, gone);
  assert.equal(row.state, "preempted");
  assert.match(row.words, /^preempted together at .+: 2 members$/);
});

test("without groups there are no rows", () => {
  assert.deepEqual(rowsOf(null, []), []);
});

test("a chosen group means its members and no others", () => {
  const model = new Model();
  const pod = (name, group) => ({ namespace: "default", name, uid: name, group });
  model.apply({ pods: { "default/a": pod("a", KEY), "default/b": pod("b", `${KEY}-2`), "default/c": pod("c") } });
  const filter = new Filter({ group: KEY });
  assert.ok(filter.isActive);
  assert.deepEqual(
    filter.find(model).pods.map(({ name }) => name),
    ["a"],
  );
});

test("a group that preempts is known by its name", () => {
  const known = new PodsByUid();
  const uid = "01234567-89ab-cdef-0123-456789abcdef";
  known.learn("podGroups", gang({ uid }));
  assert.equal(known.named(`Preempted by podgroup ${uid}`), "Preempted by podgroup training");
});
