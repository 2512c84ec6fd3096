// Puts the parts together: messages come in, the model changes, and at the next frame the views that it concerns are drawn.

/** @import { Change, Model } from "./model.js" */
/** @import { Message, Preemption } from "./history.js" */
/** @import { Found } from "./search.js" */

import { scale } from "./actions.js";
import { Arrows } from "./arrows.js";
import { byId, setText } from "./dom.js";
import { listen } from "./feed.js";
import { counted, digits, duration, percent } from "./format.js";
import { askForToken, showAdd } from "./forms.js";
import { History } from "./history.js";
import { keepStop, startKeyboard, visit } from "./keyboard.js";
import { Records } from "./lists.js";
import { keyOf } from "./model.js";
import { measure, play } from "./motion.js";
import { paletteOf } from "./palette.js";
import { Panel } from "./panel.js";
import { describe, Plan, touched } from "./plan.js";
import { Queue } from "./queue.js";
import { Search } from "./search.js";
import { forgetToken, keepToken, request, takeToken } from "./session.js";
import { keepChoice, startTheme } from "./settings.js";
import { SHOWN_MS, stage } from "./staging.js";
import { Timeline } from "./timeline.js";

const COUNTDOWN_PERIOD = 500;
const NOTICE_PERIOD = 6000;

const past = new History();
const plan = new Plan(byId("plan"), byId("groups"), byId("legend"));
const arrows = new Arrows(byId("arrows"), plan, past.known);
const queue = new Queue();
const search = new Search(() => redraw(), goTo);
const timeline = new Timeline(past, () => redraw());
const panel = new Panel(tell, () => timeline.version, past);
const records = new Records(
  (workload, replicas) => {
    const done = () => tell(`${workload.name} scaled to ${replicas}.`);
    return scale(workload, replicas).then(done, (error) => tell(error.message));
  },
  past.known,
  (key) => search.toggleGroup(key),
);

/** @type {import("./palette.js").Coloring} */
let coloring = "priority";
let clockAhead = 0;
/** @type {Change[] | null} what has changed since the last frame; null if everything may have */
let unseen = null;
let isScheduled = false;
/** @type {Set<string>} nodes with a preemption in the last frame */
let staged = new Set();
/** @type {HTMLElement | undefined} */
let marked;
let noticeTimer = 0;
let stageTimer = 0;

const shownModel = () => (timeline.isLive ? past.present : past.at(timeline.position));

/** @param {string} text */
function tell(text) {
  byId("notice").textContent = text;
  byId("notice").classList.add("shown");
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => byId("notice").classList.remove("shown"), NOTICE_PERIOD);
}

// Drawing: at most once in a frame, however many messages came.

/** @param {Change[] | null} changes */
function redraw(changes = null) {
  unseen = changes === null ? null : (unseen?.concat(changes) ?? null);
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    const seen = unseen;
    unseen = [];
    draw(seen);
  });
}

/**
 * Draws the model that is looked at; of the plan only what the changes concern, if they are given.
 * @param {Change[] | null} changes
 */
function draw(changes) {
  const model = shownModel();
  const now = timeline.isLive ? Date.now() + clockAhead : (past.moment(timeline.position)?.at ?? 0);
  const staging = stage(past, model, timeline.position, now);
  const palette = paletteOf(model, coloring);
  const view = { model, stage: staging, palette, filter: search.filter };
  const names = changes ? new Set([...touched(changes), ...staged, ...staging.nodes]) : null;
  const places = names ? measure(plan, queue, changes ?? [], names) : null;
  plan.draw(view, names);
  arrows.draw(staging.preemptions);
  staged = staging.nodes;
  const isQueueKnown = timeline.position + past.offset >= 0; // from when on this page has heard
  queue.draw(model, palette, search.filter, isQueueKnown);
  records.draw(model, search.filter);
  search.draw(model);
  panel.draw(model);
  drawSummary(model);
  drawCountdowns();
  keepStop(byId("groups"));
  markShown();
  if (places) play(plan, places);
  endStaging(staging.preemptions, now);
  if (plan.isBehind) redraw([]);
}

/**
 * Draws again when a preemption has been seen for long enough.
 * @param {Preemption[]} preemptions
 * @param {number} now
 */
function endStaging(preemptions, now) {
  clearTimeout(stageTimer);
  if (!timeline.isLive) return;
  const left = preemptions.map(({ at }) => at + SHOWN_MS - now).filter((time) => time > 0);
  if (left.length) stageTimer = setTimeout(() => redraw([]), Math.min(...left) + 1);
}

/** The block whose pod is in the panel. */
function markShown() {
  marked?.classList.remove("shown");
  const pod = shownModel().pods.get(panel.pod ?? "");
  marked = pod && plan.blockOf(pod.uid);
  marked?.classList.add("shown");
}

function closePanel() {
  panel.close();
  markShown();
}

/** @param {Model} model */
function drawSummary(model) {
  const share = percent(model.requested[plan.sizing], model.allocatable[plan.sizing]);
  const parts = [counted(model.nodes.size, "node"), `${counted(model.placed, "pod")} placed`];
  const rest = [`${digits(model.pending.size)} pending`, `${share} of ${plan.sizing} requested`];
  setText(byId("summary"), [...parts, ...rest].join(" · "));
}

function drawCountdowns() {
  const now = timeline.isLive ? Date.now() + clockAhead : (past.moment(timeline.position)?.at ?? 0);
  /** @type {NodeListOf<HTMLElement>} */
  const shown = document.querySelectorAll("[data-until]");
  for (const one of shown) {
    const text = duration(Number(one.dataset.until) - now);
    if (one.classList.contains("block")) one.dataset.left = text;
    else setText(one, text);
  }
}

/**
 * Says aloud what one should not miss.
 * @param {Preemption[]} preemptions
 */
function announce(preemptions) {
  if (!preemptions.length) return;
  const by = [...new Set(preemptions.map((preemption) => preemption.by))];
  const victims = preemptions.map(({ victim }) => victim.name);
  const named = victims.slice(0, 3).join(", ") + (victims.length > 3 ? ` and ${victims.length - 3} more` : "");
  tell(by.length > 1 ? `${by.length} pods preempt ${named}.` : `${spoken(by[0])} preempts ${named}.`);
}

/** @param {string} uid */
function spoken(uid) {
  const pod = past.known.pod(uid);
  if (pod) return `${pod.name} (priority ${digits(pod.priority ?? 0)})`;
  return past.known.name(uid) ?? "A pod of higher priority";
}

// Hearing.

/**
 * @param {string} event
 * @param {Message} message
 */
function heard(event, message) {
  byId("connection").hidden = true;
  clockAhead = message.at - Date.now();
  const changes = past.take(event, message);
  if (changes === null) recall(message.version);
  else announce(past.batches.at(-1)?.preemptions ?? []);
  timeline.draw();
  if (timeline.isLive) redraw(changes);
}

/**
 * Asks the server for what was before.
 * @param {number} version
 */
async function recall(version) {
  try {
    past.prepend(await request("GET", `/dashboard/past?until=${version}`));
    timeline.draw();
    if (!timeline.isLive) redraw();
  } catch {
    // The page shows the present, and the past from now on.
  }
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

/** @param {string} token */
function begin(token) {
  keepToken(token);
  start();
}

// Pointing and pressing.

/**
 * Visits what was found, wherever it is shown.
 * @param {Found} found
 */
function goTo({ kind, key }) {
  const model = shownModel();
  const pod = model.pods.get(key);
  const shown =
    kind === "node" ? plan.headOf(key.slice(1)) : pod && (plan.blockOf(pod.uid) ?? plan.keptBlockOf(pod.uid));
  if (shown) {
    showView("plan");
    visit(shown);
  } else panel.open(kind, key, model);
}

/**
 * The pod under the pointer, where pods are bands of a strip.
 * @param {EventTarget | null} target
 * @param {number} [y]
 */
function podPointedAt(target, y) {
  const stack = plan.isDense && target instanceof Element ? target.closest(".stack") : null;
  return stack && y !== undefined ? plan.podAt(stack, y) : undefined;
}

/**
 * What is pointed at, in words: small bays have no room for names.
 * @param {{target: EventTarget | null, clientY?: number}} event
 */
function descriptionOf({ target, clientY }) {
  const shown = target instanceof Element ? target.closest("[data-pod], [data-node]") : null;
  if (!(shown instanceof HTMLElement)) {
    const pod = podPointedAt(target, clientY);
    return pod ? describe(pod) : "";
  }
  const pod = shownModel().pods.get(shown.dataset.pod ?? "");
  const text = pod && !shown.classList.contains("kept") ? describe(pod) : (shown.getAttribute("aria-label") ?? "");
  if (shown.title !== text) shown.title = text;
  return text;
}

function describePointed() {
  const usual = byId("plan-hint").textContent ?? "";
  const describeIt = (/** @type {Event} */ event) => setText(byId("plan-hint"), descriptionOf(event) || usual);
  for (const kind of ["pointermove", "focusin"]) byId("groups").addEventListener(kind, describeIt);
}

/** @param {MouseEvent} event */
function openWhatIsClicked({ target, clientY }) {
  if (!(target instanceof Element)) return;
  const pod = /** @type {HTMLElement | null} */ (target.closest("[data-pod]"));
  const node = /** @type {HTMLElement | null} */ (target.closest("[data-node]"));
  const band = podPointedAt(target, clientY);
  if (band) panel.open("pod", keyOf(band), shownModel());
  else if (pod) panel.open("pod", pod.dataset.pod ?? "", shownModel());
  else if (node) panel.open("node", `/${node.dataset.node}`, shownModel());
  markShown();
}

/**
 * On a small screen there is room for one part at a time.
 * @param {string} name
 */
function showView(name) {
  document.body.dataset.view = name;
  for (const button of byId("views").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.shows === name));
  }
}

function listenToControls() {
  document.addEventListener("click", openWhatIsClicked);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !(/** @type {HTMLDialogElement} */ (byId("dialog")).open)) closePanel();
  });
  byId("add").addEventListener("click", () => showAdd(past.present, tell));
  byId("records").addEventListener("redraw", () => redraw([]));
  byId("views").addEventListener("click", ({ target }) => {
    const shows = target instanceof Element ? target.closest("button")?.dataset.shows : "";
    if (shows) showView(shows);
  });
  byId("options").addEventListener("click", () => {
    const isOpen = document.body.classList.toggle("with-options");
    byId("options").setAttribute("aria-expanded", String(isOpen));
  });
  new ResizeObserver(() => redraw([])).observe(byId("groups"));
  window.addEventListener("resize", () => redraw());
}

function listenToChoices() {
  /** @type {[string, (value: any) => void][]} */
  const choices = [
    ["sizing", (value) => (plan.sizing = value)],
    ["grouping", (value) => (plan.grouping = value)],
    ["coloring", (value) => (coloring = value)],
  ];
  for (const [id, choose] of choices) {
    keepChoice(/** @type {HTMLSelectElement} */ (byId(id)), (value) => {
      choose(value);
      redraw();
    });
  }
}

startTheme(byId("theme"));
startKeyboard(byId("groups"));
listenToControls();
listenToChoices();
describePointed();
setInterval(drawCountdowns, COUNTDOWN_PERIOD);
if (takeToken()) start();
else askForToken(false, begin);
