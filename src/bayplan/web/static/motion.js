// What moves is seen moving: pods from the queue into their bay, victims out of it. Nothing moves for people who have
// asked for that, nor when too much changes at once to be followed.

/** @import { Change } from "./model.js" */
/** @import { Plan } from "./plan.js" */
/** @import { Queue } from "./queue.js" */
/** @typedef {{rect: DOMRect, shown: HTMLElement, isComing: boolean}} Place */

const FOLLOWED_MAX = 80;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Where things are before changes are drawn, by uid.
 * @param {Plan} plan
 * @param {Queue} queue
 * @param {Change[]} changes
 * @param {Iterable<string>} names of nodes that are about to be drawn
 */
export function measure(plan, queue, changes, names) {
  /** @type {Map<string, Place>} */
  const places = new Map();
  const pods = changes.filter(({ table }) => table === "pods");
  if (calm.matches || document.hidden || plan.isDense || pods.length > FOLLOWED_MAX) return places;
  for (const name of names) addBlocks(plan.bayOf(name), places);
  for (const { key, before, now } of pods) {
    const item = !before?.node && now?.node ? queue.itemOf(key) : null;
    if (item?.isConnected) places.set(now.uid, { rect: item.getBoundingClientRect(), shown: item, isComing: true });
  }
  return places;
}

/**
 * @param {HTMLElement | undefined} bay
 * @param {Map<string, Place>} places
 */
function addBlocks(bay, places) {
  /** @type {NodeListOf<HTMLElement> | never[]} */
  const blocks = bay?.querySelectorAll(".stack > .block") ?? [];
  for (const block of blocks) {
    places.set(block.dataset.uid ?? "", { rect: block.getBoundingClientRect(), shown: block, isComing: false });
  }
}

/**
 * Moves what is drawn now from where it was; what is gone leaves.
 * @param {Plan} plan
 * @param {Map<string, Place>} places
 */
export function play(plan, places) {
  for (const [uid, { rect, shown, isComing }] of places) {
    const block = plan.blockOf(uid);
    if (block?.isConnected) arrive(block, rect, isComing);
    else if (!isComing) leave(shown, rect);
  }
}

/**
 * @param {HTMLElement} block
 * @param {DOMRect} from
 * @param {boolean} isComing
 */
function arrive(block, from, isComing) {
  const to = block.getBoundingClientRect();
  const [x, y] = [from.left - to.left, from.top - to.top];
  if (Math.abs(x) < 1 && Math.abs(y) < 1) return;
  const frames = [
    { transform: `translate(${x}px, ${y}px)`, zIndex: 5 },
    { transform: "none", zIndex: 5 },
  ];
  block.animate(frames, { duration: isComing ? 900 : 350, easing: "cubic-bezier(.2,.7,.2,1)" });
}

/**
 * @param {HTMLElement} shown
 * @param {DOMRect} rect
 */
function leave(shown, rect) {
  const ghost = /** @type {HTMLElement} */ (shown.cloneNode(true));
  ghost.removeAttribute("data-pod");
  ghost.classList.add("leaving");
  ghost.setAttribute("aria-hidden", "true");
  ghost.tabIndex = -1;
  const place = { left: `${rect.left}px`, top: `${rect.top}px`, width: `${rect.width}px`, height: `${rect.height}px` };
  Object.assign(ghost.style, place);
  document.body.append(ghost);
  const frames = [
    { opacity: 1, transform: "none" },
    { opacity: 0, transform: "translateY(-28px) rotate(-2deg)" },
  ];
  ghost.animate(frames, { duration: 900, easing: "ease-in" }).finished.finally(() => ghost.remove());
}
