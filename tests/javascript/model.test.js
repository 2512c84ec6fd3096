// Counts that are kept in step with the tables, filters, colors and words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parser } from "../../src/bayplan/web/static/feed.js";
import { Filter, NO_CLASS } from "../../src/bayplan/web/static/filter.js";
import { cpu, duration, memory, naturally, requests } from "../../src/bayplan/web/static/format.js";
import { Model, stateOf } from "../../src/bayplan/web/static/model.js";
import { paletteOf } from "../../src/bayplan/web/static/palette.js";
import { commonBeginning, touched } from "../../src/bayplan/web/static/plan.js";
import { bandAt, bandsOf, gradient } from "../../src/bayplan/web/static/strips.js";

const pod = (name, facts = {}) => ({ namespace: "default", name, uid: name, ...facts });

function modelOf(tables) {
  const model = new Model();
  model.apply(tables);
  return model;
}

/** Counts again from the tables alone. */
function counted(model) {
  const pods = [...model.pods.values()].filter(({ phase }) => phase !== "Succeeded");
  const placed = pods.filter(({ node }) => node);
  return {
    pending: pods.length - placed.length,
    placed: placed.length,
    cpu: placed.reduce((sum, one) => sum + one.cpu, 0),
  };
}

test("counts follow every change", () => {
  const model = new Model();
  let seed = 7;
  const draw = (most) => {
    seed = (seed * 48271) % 2147483647;
    return seed % most;
  };
  for (let step = 0; step < 500; step += 1) {
    const name = `pod-${draw(30)}`;
    const facts = {
      cpu: draw(9),
      node: draw(2) ? `node-${draw(3)}` : undefined,
      phase: draw(5) ? "Running" : "Succeeded",
    };
    model.set("pods", `default/${name}`, draw(4) ? pod(name, facts) : null);
    const { pending, placed, requested } = model;
    assert.deepEqual({ pending: pending.size, placed, cpu: requested.cpu }, counted(model));
  }
  const onNodes = ["node-0", "node-1", "node-2"].flatMap((name) => [...model.podsOn(name)]);
  assert.equal(onNodes.length, model.placed);
});

const STATES = [
  [{}, "pending"],
  [{ gates: ["wait"] }, "gated"],
  [{ nominated: "n" }, "nominated"],
  [{ node: "n" }, "starting"],
  [{ node: "n", ready: true }, "running"],
  [{ node: "n", endsAt: "2026-01-01T00:00:00Z" }, "terminating"],
  [{ node: "n", endsAt: "2026-01-01T00:00:00Z", target: "PreemptionByScheduler" }, "preempted"],
  [{ node: "n", phase: "Failed" }, "finished"],
];
for (const [facts, state] of STATES) {
  test(`a pod is ${state}`, () => assert.equal(stateOf(pod("a", facts)), state));
}

const FILTERS = [
  [{ words: "WEB node-1" }, ["web-1"]],
  [{ words: "shop/" }, ["web-2"]],
  [{ namespace: "shop" }, ["web-2"]],
  [{ priorityClass: "urgent" }, ["web-1"]],
  [{ priorityClass: NO_CLASS }, ["web-2", "web-10"]],
  [{ state: "pending" }, ["web-2", "web-10"]],
  [{ words: "web", namespace: "default", state: "pending" }, ["web-10"]],
  [{ words: "nothing" }, []],
  [{}, []],
];
for (const [wanted, names] of FILTERS) {
  test(`${JSON.stringify(wanted)} finds ${names.join(" and ") || "nothing"}`, () => {
    const pods = {
      "default/web-10": pod("web-10"),
      "default/web-1": pod("web-1", { node: "node-1", ready: true, priorityClass: "urgent" }),
      "shop/web-2": pod("web-2", { namespace: "shop" }),
    };
    const found = new Filter(wanted).find(modelOf({ pods }));
    assert.deepEqual(
      found.pods.map(({ name }) => name),
      names,
    );
  });
}

test("a class keeps its color when pods and classes come and go", () => {
  const classes = {
    "/batch": { name: "batch", value: 100, created: "1" },
    "/web": { name: "web", value: 5000, created: "2" },
  };
  const model = modelOf({ classes, pods: { "default/a": pod("a", { priorityClass: "batch", priority: 100 }) } });
  const colorOf = () => paletteOf(model, "priority").styleOf(model.pods.get("default/a"));
  const before = colorOf();
  model.apply({ classes: { "/between": { name: "between", value: 700, created: "3" } } });
  assert.equal(colorOf(), before);
  model.apply({ classes: { "/web": null }, pods: { "default/b": pod("b", { priority: 31 }) } });
  assert.equal(colorOf(), before);
});

test("a namespace keeps its color when others come", () => {
  const model = modelOf({ namespaces: { "/default": { name: "default", created: "1" } } });
  const colorOf = () => paletteOf(model, "namespace").styleOf(pod("a"));
  const before = colorOf();
  for (let number = 0; number < 20; number += 1) {
    model.apply({ namespaces: { [`/n${number}`]: { name: `n${number}`, created: `2${number}` } } });
    assert.equal(colorOf(), before);
  }
});

test("messages are read wherever the stream was cut", () => {
  const text = 'event: snapshot\nid: 1\ndata: {"at": 1}\n\n: quiet\n\nevent: changes\nid: 2\ndata: {"at": 2}\n\n';
  for (let size = 1; size < text.length; size += 1) {
    const heard = [];
    const parse = parser((event, { at }) => heard.push([event, at]));
    for (let start = 0; start < text.length; start += size) parse(text.slice(start, start + size));
    assert.deepEqual(heard, [
      ["snapshot", 1],
      ["changes", 2],
    ]);
  }
});

test("a strip has its pods from below, one after the other", () => {
  const pods = [pod("a", { cpu: 50 }), pod("b", { cpu: 25 })];
  const bands = bandsOf(pods, ({ cpu: milli }) => milli / 100);
  const names = [0, 0.49, 0.5, 0.74, 0.75, 1].map((share) => bandAt(bands, share)?.name);
  assert.deepEqual(names, ["a", "a", "b", "b", undefined, undefined]);
});

test("thin neighbors of one color are one band", () => {
  const bands = bandsOf([pod("a"), pod("b"), pod("c")], () => 0.01);
  const drawn = gradient(bands, 36, ({ name }) => (name === "c" ? "p2" : "p1"));
  assert.equal(drawn, "linear-gradient(to top, var(--p1) 0% 2%, var(--p2) 2% 3%, transparent 3%)");
  assert.equal(
    gradient([], 36, () => "p1"),
    "",
  );
});

test("a change touches the bays where a pod was and is", () => {
  const before = pod("a", { nominated: "node-2" });
  const changes = [
    { table: "pods", key: "default/a", before, now: pod("a", { node: "node-1" }) },
    { table: "nodes", key: "/node-3", before: null, now: { name: "node-3" } },
    { table: "events", key: "e", before: null, now: { node: "node-4" } },
  ];
  assert.deepEqual([...touched(changes)].sort(), ["node-1", "node-2", "node-3"]);
});

const BEGINNINGS = [
  [["ip-10-0-1", "ip-10-0-2"], "ip-10-0-"],
  [["pool-a-1", "pool-b-1"], "pool-"],
  [["a-1", "b-1"], ""],
  [["node"], ""],
  [[], ""],
];
for (const [names, beginning] of BEGINNINGS) {
  test(`${names.join(" and ") || "nothing"} begins with "${beginning}"`, () =>
    assert.equal(commonBeginning(names), beginning));
}

const WORDS = [
  [cpu(0), "0"],
  [cpu(250), "250m"],
  [cpu(1500), "1.5"],
  [cpu(1_234_567), "1,234.567"],
  [memory(3 * 2 ** 30), "3Gi"],
  [memory(1536 * 2 ** 20), "1.5Gi"],
  [requests({}), "requests nothing"],
  [requests({ cpu: 100, memory: 2 ** 20 }), "100m cpu, 1Mi memory"],
  [duration(-5), "0 s"],
  [duration(99_001), "2 min"],
  [duration(7_200_000), "2 h"],
];
for (const [written, expected] of WORDS) test(`"${expected}" is written so`, () => assert.equal(written, expected));

test("node-2 comes before node-10", () => {
  assert.deepEqual(["node-10", "node-2"].sort(naturally), ["node-2", "node-10"]);
});
