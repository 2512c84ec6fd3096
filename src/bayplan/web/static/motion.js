// What moves is seen moving: pods from the queue into their bay, victims out of it. Nothing moves for people who have
// asked for that, nor when too much changes at once to be followed.

const FOLLOWED_MAX = 80;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** Where things are before a change is drawn. */
export function measure(plan, queue, changes) {
  const pods = changes.filter(({ table }) => table === "pods");
  const places = new Map();
  if (calm.matches || document.hidden || pods.length > FOLLOWED_MAX) return places;
  for (const { key, before, now } of pods) {
    const block = plan.blockOf(key);
    const shown = before?.node ? block : queue.itemOf(key);
    if (shown?.isConnected) places.set(key, { rect: shown.getBoundingClientRect(), shown, before, now });
    for (const name of [before?.node, now?.node]) if (name) addNeighbours(plan.bayOf(name), places);
  }
  return places;
}

function addNeighbours(bay, places) {
  for (const block of bay?.querySelectorAll(".stack > .block") ?? []) {
    const key = block.dataset.pod;
    if (!places.has(key)) places.set(key, { rect: block.getBoundingClientRect(), shown: block });
  }
}

/** Moves what is drawn now from where it was. */
export function play(plan, places) {
  for (const [key, { rect, shown, before, now }] of places) {
    const block = plan.blockOf(key);
    if (before?.node && !now) leave(shown, rect);
    else if (block?.isConnected) arrive(block, rect, Boolean(before && !before.node && now?.node));
  }
}

function arrive(block, from, isComing) {
  const to = block.getBoundingClientRect();
  const [x, y] = [from.left - to.left, from.top - to.top];
  if (Math.abs(x) < 1 && Math.abs(y) < 1) return;
  const frames = [{ transform: `translate(${x}px, ${y}px)`, zIndex: 5 }, { transform: "none", zIndex: 5 }];
  block.animate(frames, { duration: isComing ? 900 : 350, easing: "cubic-bezier(.2,.7,.2,1)" });
}

function leave(shown, rect) {
  const ghost = shown.cloneNode(true);
  ghost.removeAttribute("data-pod");
  ghost.classList.add("leaving");
  ghost.setAttribute("aria-hidden", "true");
  ghost.tabIndex = -1;
  Object.assign(ghost.style, { left: `${rect.left}px`, top: `${rect.top}px`, width: `${rect.width}px`, height: `${rect.height}px` });
  document.body.append(ghost);
  const frames = [{ opacity: 1, transform: "none" }, { opacity: 0, transform: "translateY(-28px) rotate(-2deg)" }];
  ghost.animate(frames, { duration: 900, easing: "ease-in" }).finished.finally(() => ghost.remove());
}
