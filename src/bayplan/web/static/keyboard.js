// Moving about in the plan: one stop for Tab, arrow keys from there. Left and right go from bay to bay, up and down
// within a bay, Home and End to the first and the last bay.

const STOPS = "button.node, .block";

export function startKeyboard(zones) {
  zones.addEventListener("keydown", (event) => {
    const next = target(zones, document.activeElement, event.key);
    if (!next) return;
    event.preventDefault();
    visit(zones, next);
  });
  zones.addEventListener("focusin", (event) => {
    if (event.target.matches(STOPS)) visit(zones, event.target, false);
  });
}

/** Makes sure that Tab leads into the plan, whatever was removed meanwhile. */
export function keepStop(zones) {
  if (!zones.querySelector('[tabindex="0"]')) zones.querySelector(STOPS)?.setAttribute("tabindex", "0");
}

function visit(zones, next, moveFocus = true) {
  for (const stop of zones.querySelectorAll('[tabindex="0"]')) stop.tabIndex = -1;
  next.tabIndex = 0;
  if (moveFocus) next.focus();
}

function target(zones, from, key) {
  const bays = [...zones.querySelectorAll(".bay")];
  const bay = from?.closest(".bay");
  const at = bays.indexOf(bay);
  if (at < 0) return null;
  if (key === "Home") return bays[0].querySelector(STOPS);
  if (key === "End") return bays[bays.length - 1].querySelector(STOPS);
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (sideways) return bays[at + sideways]?.querySelector(STOPS);
  const step = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (!step) return null;
  const stops = inReadingOrder(bay);
  return stops[stops.indexOf(from) + step];
}

/** From top to bottom: the stack is filled from below. */
function inReadingOrder(bay) {
  const blocks = [...bay.querySelectorAll(".stack > .block")].reverse();
  return [bay.querySelector("button.node"), ...bay.querySelectorAll(".kept-for > .block"), ...blocks];
}
