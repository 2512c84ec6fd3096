// The timeline: back through what is remembered, and to the present again.

/** @import { Batch, History } from "./history.js" */

import { byId, element, setText } from "./dom.js";
import { clockTime } from "./format.js";

const MARKS_MAX = 200;

export class Timeline {
  isLive = true;
  #history;
  #index = 0;
  #scrub = /** @type {HTMLInputElement} */ (byId("scrub"));
  #marks = "";

  /**
   * @param {History} history
   * @param {() => void} moved
   */
  constructor(history, moved) {
    this.#history = history;
    /** @param {number} position */
    const go = (position) => {
      this.isLive = position >= this.#history.batches.length;
      this.#index = position + this.#history.offset;
      this.draw();
      moved();
    };
    this.#scrub.addEventListener("input", () => go(Number(this.#scrub.value)));
    byId("live").addEventListener("click", () => go(Number.POSITIVE_INFINITY));
    byId("marks").addEventListener("click", ({ target }) => {
      const mark = target instanceof HTMLElement ? target.dataset.position : "";
      if (mark) go(Number(mark));
    });
    for (const [id, step] of /** @type {const} */ ([
      ["earlier", -1],
      ["later", 1],
    ])) {
      byId(id).addEventListener("click", () => go(this.#nextMark(step)));
    }
  }

  get position() {
    return this.isLive ? this.#history.batches.length : Math.max(0, this.#index - this.#history.offset);
  }

  /** The version that is looked at, if it is not the present. */
  get version() {
    return this.isLive ? null : (this.#history.moment(this.position)?.version ?? null);
  }

  /**
   * The preemption before or after the point that is looked at; the present after the last one.
   * @param {1 | -1} step
   */
  #nextMark(step) {
    const { batches } = this.#history;
    for (let position = this.position + step; position > 0 && position <= batches.length; position += step) {
      if (batches[position - 1].preemptions.length) return position;
    }
    return step > 0 ? Number.POSITIVE_INFINITY : this.position;
  }

  /** After each batch: the end moves on, and what is looked at stays the same. */
  draw() {
    const { batches } = this.#history;
    this.#scrub.max = String(Math.max(1, batches.length));
    this.#scrub.value = this.isLive ? this.#scrub.max : String(this.position);
    const moment = this.#history.moment(this.position);
    const text = moment ? clockTime(moment.at) : "";
    setText(byId("moment"), text);
    this.#scrub.setAttribute("aria-valuetext", this.isLive ? `${text}, live` : text);
    byId("live").setAttribute("aria-pressed", String(this.isLive));
    document.body.classList.toggle("past", !this.isLive);
    this.#drawMarks(batches);
  }

  /** @param {Batch[]} batches */
  #drawMarks(batches) {
    const found = [];
    for (const [index, { preemptions }] of batches.entries()) if (preemptions.length) found.push(index + 1);
    const shown = found.slice(-MARKS_MAX);
    const signature = shown.length ? `${batches.length} ${shown}` : "";
    if (signature === this.#marks) return;
    this.#marks = signature;
    const marks = shown.map((position) => {
      const mark = element("span.mark", { data: { position } });
      mark.style.left = `${(100 * position) / Math.max(1, batches.length)}%`;
      return mark;
    });
    byId("marks").replaceChildren(...marks);
    for (const id of ["earlier", "later"]) byId(id).hidden = !found.length;
  }
}
