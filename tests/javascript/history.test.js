// The past of a page: forth, back, and what was before it was opened.

import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../../src/bayplan/web/static/history.js";
import { SHOWN_MS, stage } from "../../src/bayplan/web/static/staging.js";

const UID = "3dc29f3e-d896-4000-8000-000000000001";
const VICTIM = "3dc29f3e-d896-4000-8000-000000000002";

const pod = (name, facts = {}) => ({ namespace: "default", name, uid: `uid-${name}`, ...facts });
const message = (version, tables) => ({ at: 1000 * version, version, tables });

function opened(tables = {}) {
  const history = new History();
  history.take("snapshot", message(10, tables));
  return history;
}

/** Names of the pods at a point of the past. */
const podsAt = (history, position) => [...history.at(position).pods.values()].map(({ name }) => name);

test("the first snapshot is the present and not a change", () => {
  const history = opened({ pods: { "default/a": pod("a") } });
  assert.equal(history.batches.length, 0);
  assert.deepEqual(podsAt(history, 0), ["a"]);
});

test("one can go back and forth", () => {
  const history = opened({ pods: { "default/a": pod("a") } });
  history.take("changes", message(11, { pods: { "default/b": pod("b") } }));
  history.take("changes", message(12, { pods: { "default/a": null } }));
  assert.deepEqual(podsAt(history, 0), ["a"]);
  assert.deepEqual(podsAt(history, 2), ["b"]);
  assert.deepEqual(podsAt(history, 1), ["b", "a"]);
  assert.deepEqual([...history.present.pods.keys()], ["default/b"]);
});

test("a second snapshot is a batch of what differs", () => {
  const history = opened({ pods: { "default/a": pod("a"), "default/b": pod("b") } });
  history.take("snapshot", message(20, { pods: { "default/b": pod("b"), "default/c": pod("c") } }));
  const changed = history.batches[0].changes.map(({ key }) => key);
  assert.deepEqual(changed, ["default/a", "default/c"]);
});

test("what the server remembers comes before what the page has seen", () => {
  const history = opened({ pods: { "default/b": pod("b", { phase: "Running" }) } });
  history.take("changes", message(11, { pods: { "default/c": pod("c") } }));
  history.prepend({
    base: { pods: { "default/a": pod("a") } },
    batches: [
      message(5, { pods: { "default/a": null } }),
      message(6, { pods: { "default/b": pod("b", { phase: "Running" }) } }),
    ],
  });
  assert.equal(history.batches.length, 3);
  assert.equal(history.offset, -2);
  assert.deepEqual(podsAt(history, 0), ["a"]);
  assert.deepEqual(podsAt(history, 1), []);
  assert.deepEqual(podsAt(history, 3), ["b", "c"]);
});

test("the oldest batches are forgotten, and positions keep their batch", () => {
  const history = opened();
  for (let version = 11; version < 3511; version += 1) {
    history.take("changes", message(version, { pods: { "default/a": pod("a", { attempt: version }) } }));
  }
  assert.equal(history.batches.length, 3000);
  assert.equal(history.offset, 500);
  assert.equal(history.moment(0).version, 510);
  assert.equal(history.at(1).pods.get("default/a").attempt, 511);
});

/** A victim that is gone, and its preemptor bound, in the batch in which both were announced. */
function preempted() {
  const victim = pod("low", { uid: VICTIM, node: "node-1", cpu: 1000, phase: "Running" });
  const history = opened({ nodes: { "/node-1": { name: "node-1", cpu: 4000 } }, pods: { "default/low": victim } });
  const event = { namespace: "default", name: "e", reason: "Preempted", aboutUid: VICTIM, by: UID, node: "node-1" };
  const boss = pod("boss", { uid: UID, node: "node-1", cpu: 2000, phase: "Running" });
  history.take("changes", message(11, { pods: { "default/low": null, "default/boss": boss }, events: { e: event } }));
  return history;
}

test("a victim that is gone at once stays on the stage, and its preemptor waits in front of it", () => {
  const history = preempted();
  const { preemptions, podsOn } = stage(history, history.present, 1, 11_000 + SHOWN_MS - 1);
  assert.deepEqual(
    preemptions.map(({ victim, preemptor }) => [victim.name, preemptor?.name]),
    [["low", "boss"]],
  );
  const shown = new Map(podsOn("node-1").map((one) => [one.name, one]));
  assert.equal(shown.get("low")?.target, "PreemptionByScheduler");
  assert.equal(shown.get("boss")?.node, undefined);
  assert.equal(shown.get("boss")?.nominated, "node-1");
});

test("a victim is on the stage for at least two seconds, and then leaves it", () => {
  assert.ok(SHOWN_MS >= 2000);
  const history = preempted();
  const { preemptions, podsOn } = stage(history, history.present, 1, 11_000 + SHOWN_MS);
  assert.deepEqual(preemptions, []);
  assert.deepEqual(
    podsOn("node-1").map(({ name, node }) => [name, node]),
    [["boss", "node-1"]],
  );
});

test("names stand in place of uids", () => {
  const history = preempted();
  const message = `Preempted by pod ${UID} on node node-1`;
  assert.equal(history.known.named(message), "Preempted by pod boss on node node-1");
  assert.equal(history.known.name(VICTIM), "low");
});
