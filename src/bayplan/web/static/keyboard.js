// Moving about in the plan: one stop for Tab, arrow keys from there. Left and right go from bay to bay, up and down
// within a bay, Home and End to the first and the last bay.

const STOPS = "button.node, .block";
/** @type {HTMLElement | null} where Tab leads */
let stop = null;

/** @param {HTMLElement} zones */
export function startKeyboard(zones) {
  zones.addEventListener("keydown", (event) => {
    const next = target(zones, document.activeElement, event.key);
    if (!next) return;
    event.preventDefault();
    visit(next);
  });
  zones.addEventListener("focusin", ({ target: focused }) => {
    if (focused instanceof HTMLElement && focused.matches(STOPS)) makeStop(focused);
  });
}

/**
 * Makes sure that Tab leads into the plan, whatever was removed meanwhile.
 * @param {HTMLElement} zones
 */
export function keepStop(zones) {
  const first = stop?.isConnected ? null : /** @type {HTMLElement | null} */ (zones.querySelector(STOPS));
  if (first) makeStop(first);
}

/**
 * Goes to a block or bay, and scrolls there.
 * @param {HTMLElement} next
 */
export function visit(next) {
  makeStop(next);
  next.focus();
  next.closest(".bay")?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** @param {HTMLElement} next */
function makeStop(next) {
  if (stop) stop.tabIndex = -1;
  next.tabIndex = 0;
  stop = next;
}

/**
 * @param {HTMLElement} zones
 * @param {Element | null} from
 * @param {string} key
 * @returns {HTMLElement | null | undefined}
 */
function target(zones, from, key) {
  const bays = [...zones.querySelectorAll(".bay")];
  const bay = from?.closest(".bay");
  if (!from || !bay) return null;
  const at = bays.indexOf(bay);
  /** @param {number} index */
  const headOf = (index) => /** @type {HTMLElement | null} */ (bays[index]?.querySelector(STOPS));
  if (key === "Home") return headOf(0);
  if (key === "End") return headOf(bays.length - 1);
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (sideways) return headOf(at + sideways);
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!step) return null;
  const stops = inReadingOrder(bay);
  return stops[stops.indexOf(/** @type {HTMLElement} */ (from)) + step];
}

/**
 * From top to bottom: the stack is filled from below.
 * @param {Element} bay
 * @returns {HTMLElement[]}
 */
function inReadingOrder(bay) {
  const blocks = [...bay.querySelectorAll(".stack > .block")].reverse();
  return /** @type {HTMLElement[]} */ ([
    bay.querySelector("button.node"),
    ...bay.querySelectorAll(".kept-for > .block"),
    ...blocks,
  ]);
}
