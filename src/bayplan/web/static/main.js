// Puts the parts together: messages come in, the model changes, the views that it concerns are drawn.

import { scale } from "./actions.js";
import { byId, setText } from "./dom.js";
import { listen } from "./feed.js";
import { counted, duration, percent } from "./format.js";
import { askForToken, showAdd } from "./forms.js";
import { keepStop, startKeyboard } from "./keyboard.js";
import { Records } from "./lists.js";
import { measure, play } from "./motion.js";
import { levels } from "./palette.js";
import { Panel } from "./panel.js";
import { Plan, touched } from "./plan.js";
import { Queue } from "./queue.js";
import { forgetToken, keepToken, takeToken } from "./session.js";
import { History, isPending, takesRoom } from "./state.js";
import { startTheme } from "./theme.js";
import { Timeline } from "./timeline.js";

const COUNTDOWN_PERIOD = 500;

const past = new History();
const plan = new Plan(byId("plan"), byId("zones"), byId("legend"));
const queue = new Queue();
const timeline = new Timeline(past, () => requestAnimationFrame(() => draw()));
const panel = new Panel(tell, () => timeline.version);
const records = new Records((workload, replicas) =>
  scale(workload, replicas).then(() => tell(`${workload.name} scaled to ${replicas}.`), (error) => tell(error.message)),
);
let clockAhead = 0;
let colours = "";

const shownModel = () => (timeline.isLive ? past.present : past.at(timeline.position));

function tell(text) {
  byId("notice").textContent = text;
  byId("notice").classList.add("shown");
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => byId("notice").classList.remove("shown"), 6000);
}

/** Draws the model that is looked at; of the plan only what the changes concern, if they are given. */
function draw(changes = null) {
  const model = shownModel();
  const scaleNow = levels(model);
  const key = JSON.stringify(scaleNow);
  plan.draw(model, scaleNow, changes && key === colours ? touched(changes) : null);
  colours = key;
  queue.draw(model, scaleNow);
  records.draw(model);
  panel.draw(model);
  drawSummary(model);
  drawCountdowns();
  keepStop(byId("zones"));
  markShown();
}

/** The block whose pod is in the panel. */
function markShown() {
  for (const block of document.querySelectorAll(".block.shown")) block.classList.remove("shown");
  plan.blockOf(panel.pod)?.classList.add("shown");
}

function closePanel() {
  panel.close();
  markShown();
}

function drawSummary(model) {
  const pods = [...model.pods.values()];
  const nodes = [...model.nodes.values()];
  const total = (objects) => objects.reduce((sum, object) => sum + (object[plan.sizing] ?? 0), 0);
  const share = percent(total(pods.filter(takesRoom)), total(nodes));
  const parts = [counted(nodes.length, "node"), `${counted(pods.filter(takesRoom).length, "pod")} placed`];
  setText(byId("summary"), [...parts, `${pods.filter(isPending).length} pending`, `${share} of ${plan.sizing} requested`].join(" · "));
}

function drawCountdowns() {
  const now = timeline.isLive ? Date.now() + clockAhead : past.moment(timeline.position).at;
  for (const shown of document.querySelectorAll("[data-until]")) {
    const text = duration(Number(shown.dataset.until) - now);
    if (shown.classList.contains("block")) shown.dataset.left = text;
    else setText(shown, text);
  }
}

/** Says aloud what one should not miss. */
function announce(changes, model) {
  const preempted = changes
    .filter(({ table, before, now }) => table === "events" && !before && now?.reason === "Preempted")
    .map(({ now }) => now);
  if (!preempted.length) return;
  const uids = new Set(preempted.flatMap(({ message }) => message.split(" ")));
  const by = [...model.pods.values()].filter(({ uid }) => uids.has(uid));
  const victims = preempted.map(({ about }) => about.replace("Pod ", ""));
  const named = victims.slice(0, 3).join(", ") + (victims.length > 3 ? ` and ${victims.length - 3} more` : "");
  tell(by.length > 1 ? `${by.length} pods preempt ${named}.` : `${spoken(by[0])} preempts ${named}.`);
}

const spoken = (pod) =>
  pod ? `${pod.name} (priority ${(pod.priority ?? 0).toLocaleString("en")})` : "A pod of higher priority";

function heard(event, message) {
  byId("connection").hidden = true;
  clockAhead = message.at - Date.now();
  const places = timeline.isLive ? measure(plan, queue, affected(message)) : new Map();
  const changes = past.take(event, message);
  timeline.draw();
  if (!timeline.isLive) return;
  draw(changes);
  play(plan, places);
  if (changes) announce(changes, past.present);
}

/** The pods of a batch, before it is taken. */
function affected(message) {
  return Object.entries(message.tables.pods ?? {}).map(([key, now]) =>
    ({ table: "pods", key, before: past.present.pods.get(key) ?? null, now }));
}

function lost() {
  byId("connection").textContent = "Connection lost. Reconnecting…";
  byId("connection").hidden = false;
}

function start() {
  listen(heard, lost).catch(() => {
    forgetToken();
    askForToken(true, begin);
  });
}

function begin(token) {
  keepToken(token);
  start();
}

/** What is pointed at or focused, in words: small bays have no room for names. */
function describePointed() {
  const usual = byId("plan-hint").textContent;
  for (const kind of ["pointerover", "focusin"]) {
    byId("zones").addEventListener(kind, ({ target }) => setText(byId("plan-hint"), target.closest("[title]")?.title ?? usual));
  }
}

function listenToClicks() {
  document.addEventListener("click", (event) => {
    const pod = event.target.closest("[data-pod]");
    const node = event.target.closest("[data-node]");
    if (pod) panel.open("pod", pod.dataset.pod, shownModel());
    else if (node) panel.open("node", `/${node.dataset.node}`, shownModel());
    markShown();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !byId("dialog").open) closePanel();
  });
  byId("add").addEventListener("click", () => showAdd(past.present, tell));
  byId("sizing").addEventListener("change", (event) => {
    plan.sizing = event.target.value;
    draw();
  });
  byId("records").addEventListener("redraw", () => draw([]));
}

startTheme(byId("theme"));
startKeyboard(byId("zones"));
listenToClicks();
describePointed();
setInterval(drawCountdowns, COUNTDOWN_PERIOD);
if (takeToken()) start();
else askForToken(false, begin);
