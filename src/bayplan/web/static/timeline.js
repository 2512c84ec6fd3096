// The timeline: back through what this page has seen, and to the present again.

import { byId, element, setText } from "./dom.js";
import { clockTime } from "./format.js";

const MARKS_MAX = 200;

export class Timeline {
  constructor(history, changed) {
    this.#history = history;
    this.isLive = true;
    byId("scrub").addEventListener("input", () => this.#moveTo(Number(byId("scrub").value), changed));
    byId("live").addEventListener("click", () => this.#moveTo(Infinity, changed));
  }

  #history;
  #position = 0;
  #begun = null;

  get position() {
    return this.isLive ? this.#history.batches.length : this.#position;
  }

  /** The version that is looked at, if it is not the present. */
  get version() {
    return this.isLive ? null : this.#history.moment(this.#position).version;
  }

  #moveTo(position, changed) {
    this.isLive = position >= this.#history.batches.length;
    this.#position = position;
    this.draw();
    changed();
  }

  /** After each batch: the end moves on, and what is looked at stays the same. */
  draw() {
    const { batches, begun } = this.#history;
    if (!this.isLive && this.#begun !== null && begun !== this.#begun) this.#position = Math.max(0, this.#position - 1);
    this.#begun = begun;
    const scrub = byId("scrub");
    scrub.max = Math.max(1, batches.length);
    scrub.value = this.isLive ? scrub.max : this.position;
    const moment = this.#history.moment(this.position);
    const text = moment ? clockTime(moment.at) : "";
    setText(byId("moment"), text);
    scrub.setAttribute("aria-valuetext", this.isLive ? `${text}, live` : text);
    byId("live").setAttribute("aria-pressed", String(this.isLive));
    document.body.classList.toggle("past", !this.isLive);
    this.#drawMarks(batches);
  }

  #drawMarks(batches) {
    const found = [];
    batches.forEach(({ isMarked }, index) => {
      if (isMarked) found.push(index + 1);
    });
    const marks = found.slice(-MARKS_MAX).map((position) => {
      const mark = element("span.mark");
      mark.style.left = `${(100 * position) / Math.max(1, batches.length)}%`;
      return mark;
    });
    byId("marks").replaceChildren(...marks);
  }
}
