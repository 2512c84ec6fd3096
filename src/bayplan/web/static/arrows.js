// Arrows from a preemptor to its victims. Where blocks are too small for names, a note at the bay says who evicts whom.

/** @import { Plan } from "./plan.js" */
/** @import { PodsByUid } from "./uids.js" */
/** @import { Preemption } from "./history.js" */

import { arrange, element } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";
const ARROWS_MAX = 60;
const NOTES_MAX = 8;
const HEAD = 7;

export class Arrows {
  #layer;
  #plan;
  #known;
  #signature = "";

  /**
   * @param {HTMLElement} layer above the bays, which scrolls with them
   * @param {Plan} plan
   * @param {PodsByUid} known
   */
  constructor(layer, plan, known) {
    this.#layer = layer;
    this.#plan = plan;
    this.#known = known;
  }

  /**
   * @param {Preemption[]} preemptions
   * @param {boolean} moved whether blocks may be elsewhere than at the last time
   */
  draw(preemptions, moved = true) {
    const signature = preemptions.map(({ victim }) => victim.uid).join();
    if (!moved && signature === this.#signature) return;
    this.#signature = signature;
    if (!preemptions.length) this.#layer.replaceChildren();
    else arrange(this.#layer, this.#plan.isDense ? this.#notes(preemptions) : this.#drawing(preemptions));
  }

  /** @param {Preemption[]} preemptions */
  #drawing(preemptions) {
    const origin = this.#layer.getBoundingClientRect();
    const drawing = document.createElementNS(SVG, "svg");
    for (const { victim, by } of preemptions.slice(0, ARROWS_MAX)) {
      const from = (this.#plan.keptBlockOf(by) ?? this.#plan.blockOf(by))?.getBoundingClientRect();
      const to = this.#plan.blockOf(victim.uid)?.getBoundingClientRect();
      if (!from || !to) continue;
      for (const [style, path] of arrowPaths(from, to, origin)) {
        const made = document.createElementNS(SVG, "path");
        made.setAttribute("class", style);
        made.setAttribute("d", path);
        made.dataset.victim = victim.name;
        drawing.append(made);
      }
    }
    return [drawing];
  }

  /** @param {Preemption[]} preemptions */
  #notes(preemptions) {
    /** @type {Map<string, Preemption[]>} */
    const byNode = new Map();
    for (const preemption of preemptions)
      byNode.set(preemption.node, [...(byNode.get(preemption.node) ?? []), preemption]);
    const origin = this.#layer.getBoundingClientRect();
    return [...byNode].slice(-NOTES_MAX).flatMap(([node, found]) => {
      const bay = this.#plan.bayOf(node)?.getBoundingClientRect();
      if (!bay) return [];
      const [{ by, victim }] = found;
      const more = found.length > 1 ? ` and ${found.length - 1} more` : "";
      const text = `${this.#known.name(by) ?? "A pod"} → ${victim.name}${more}`;
      const isLeft = bay.left + bay.width / 2 < origin.left + origin.width / 2;
      const note = element(`span.preemption-note${isLeft ? "" : ".to-left"}`, { data: { victim: victim.name } }, text);
      note.style.top = `${bay.bottom - origin.top + 4}px`;
      if (isLeft) note.style.left = `${bay.left - origin.left}px`;
      else note.style.right = `${origin.right - bay.right}px`;
      return [note];
    });
  }
}

/**
 * A line and its head: from the middle of the preemptor's edge to the middle of the victim's.
 * @param {DOMRect} from
 * @param {DOMRect} to
 * @param {DOMRect} origin
 * @returns {[string, string][]}
 */
export function arrowPaths(from, to, origin) {
  const isRight = from.left + from.width / 2 > to.left + to.width / 2;
  const side = isRight ? 1 : -1;
  const inset = Math.min(10, from.width / 4);
  const x1 = (isRight ? from.left + inset : from.right - inset) - origin.left;
  const x2 = (isRight ? to.right : to.left) - origin.left - side * Math.min(22, to.width / 4);
  const y1 = from.top + Math.min(from.height / 2, 46) - origin.top;
  const y2 = to.top + to.height / 2 - origin.top;
  const bend = side * Math.max(14, Math.abs(x1 - x2) * 0.9);
  const tip = x2 + side * 1;
  const round = (/** @type {number} */ number) => Math.round(10 * number) / 10;
  const line = [x1, y1, x1 - bend, y1, x2 + bend, y2, x2 + side * HEAD, y2].map(round);
  const head = [tip, y2, tip + side * (HEAD + 3), y2 - HEAD, tip + side * (HEAD + 3), y2 + HEAD].map(round);
  return [
    ["arrow", `M${line[0]} ${line[1]} C${line.slice(2).join(" ")}`],
    ["arrow-head", `M${head.slice(0, 2).join(" ")} L${head.slice(2, 4).join(" ")} L${head.slice(4).join(" ")} Z`],
  ];
}
