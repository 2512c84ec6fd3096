// A bay as one strip of bands: for so many pods that an element for each would make the page stutter.

/** @import { Pod } from "./model.js" */
/** @typedef {{pod: Pod, from: number, to: number}} Band shares of the bay, from below */

/** A line between two pods takes a pixel, where they are at least this high. */
const LINED_HEIGHT = 4;

/**
 * @param {Pod[]} pods
 * @param {(pod: Pod) => number} share
 * @returns {Band[]}
 */
export function bandsOf(pods, share) {
  let from = 0;
  return pods.map((pod) => {
    const band = { pod, from, to: from + share(pod) };
    from = band.to;
    return band;
  });
}

/**
 * The pod that is drawn at this share of the bay.
 * @param {Band[]} bands
 * @param {number} share
 */
export const bandAt = (bands, share) => bands.find(({ from, to }) => from <= share && share < to)?.pod;

/**
 * The bands as a background; neighbors of one color are one band where there is no room for a line between them.
 * @param {Band[]} bands
 * @param {number} height of the bay, in pixels
 * @param {(pod: Pod) => string} colorOf the name of a color in colors.css
 */
export function gradient(bands, height, colorOf) {
  /** @type {{color: string, from: number, to: number, isLined: boolean}[]} */
  const parts = [];
  for (const { pod, from, to } of bands) {
    const last = parts.at(-1);
    const color = colorOf(pod);
    const isLined = (to - from) * height >= LINED_HEIGHT;
    if (last && last.color === color && !isLined && !last.isLined) last.to = to;
    else parts.push({ color, from, to, isLined });
  }
  const stops = parts.flatMap(({ color, from, to, isLined }) => {
    const end = isLined ? `calc(${percent(to)} - 1px)` : percent(to);
    const band = `var(--${color}) ${percent(from)} ${end}`;
    return isLined ? [band, `transparent ${end} ${percent(to)}`] : [band];
  });
  const top = parts.at(-1)?.to ?? 0;
  return stops.length ? `linear-gradient(to top, ${stops.join(", ")}, transparent ${percent(top)})` : "";
}

/** @param {number} share */
const percent = (share) => `${Math.round(share * 1e4) / 100}%`;
