"use strict";
// Zooming: areas show a part of the time, and all figures of a page the same. Drag to look closer. A double click goes
// back to what was shown at first, another one to the whole run.
(() => {
  const figures = [...document.querySelectorAll("figure.time")];
  if (!figures.length) return;
  const areas = figures.flatMap((figure) => [...figure.querySelectorAll("svg.area")]);
  const end = Number(figures[0].dataset.end);
  const first = [Number(figures[0].dataset.start), end];
  let shown = first;

  const drawn = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };

  const roundTicks = (from, to, atMost) => {
    const power = 10 ** Math.floor(Math.log10((to - from) / atMost));
    const step = [1, 2, 5, 10].map((factor) => power * factor).find((size) => (to - from) / size <= atMost);
    const ticks = [];
    for (let number = Math.ceil(from / step - 1e-9); number * step <= to * (1 + 1e-9); number += 1) ticks.push(number * step);
    return ticks;
  };

  const show = (from, to) => {
    shown = [from, to];
    for (const area of areas) {
      const height = area.viewBox.baseVal.height;
      area.setAttribute("viewBox", `${from} 0 ${to - from} ${height}`);
    }
    for (const figure of figures) {
      const labels = roundTicks(from, to, 10).map((tick) => drawn(
        "text", { x: `${(100 * (tick - from)) / (to - from)}%`, y: 14 },
        tick.toLocaleString("en", { maximumSignificantDigits: 8 })));
      figure.querySelector(".times g").replaceChildren(...labels);
    }
  };

  const timeAt = (area, event) => {
    const box = area.getBoundingClientRect();
    const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    return shown[0] + share * (shown[1] - shown[0]);
  };

  for (const area of areas) {
    let start = null, mark = null;
    area.addEventListener("pointerdown", (event) => {
      if (event.button === 0 && event.pointerType === "mouse") start = timeAt(area, event);
    });
    area.addEventListener("pointermove", (event) => {
      if (start === null) return;
      const now = timeAt(area, event);
      mark ??= area.appendChild(drawn("rect", { class: "chosen", y: 0, height: area.viewBox.baseVal.height }));
      mark.setAttribute("x", Math.min(start, now));
      mark.setAttribute("width", Math.abs(now - start));
    });
    const over = (event) => {
      if (start === null) return;
      const range = [start, timeAt(area, event)].sort((one, other) => one - other);
      mark?.remove();
      start = mark = null;
      if (range[1] - range[0] > (shown[1] - shown[0]) / 100) show(...range);
    };
    area.addEventListener("pointerup", over);
    area.addEventListener("pointerleave", over);
    area.addEventListener("dblclick", () => show(...(shown[0] === first[0] && shown[1] === first[1] ? [0, end] : first)));
  }
})();
