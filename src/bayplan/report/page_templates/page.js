"use strict";
(() => {
  const rangesOf = (layout) => Object.fromEntries(Object.keys(layout).filter((key) => /^[xy]axis/.test(key)).map(
    (key) => (layout[key].range ? [`${key}.range`, [...layout[key].range]] : [`${key}.autorange`, true])));
  const plots = {};
  const first = {}; // the ranges of axes as they were made
  for (const [id, figure] of Object.entries(figures)) {
    plots[id] = document.getElementById(id);
    first[id] = rangesOf(figure.layout);
    const own = id === "who-evicted" ? { displayModeBar: false } : figure.layout.meta ? { doubleClick: false } : {};
    Plotly.newPlot(plots[id], figure.data, figure.layout, { ...config, ...own });
  }

  // Once: back to what was shown at first. Once more: the whole run.
  for (const id of ["over-time", "nodes"]) {
    plots[id].on("plotly_doubleclick", () => {
      const ranges = { ...first[id] };
      const seen = plots[id].layout.xaxis.range, shown = ranges["xaxis.range"];
      if (seen[0] === shown[0] && seen[1] === shown[1]) ranges["xaxis.range"] = figures[id].layout.meta.wholeRun;
      Plotly.relayout(plots[id], ranges);
      return false;
    });
  }

  // Both have the same time axis: what is looked at closely in one is looked at in the other too.
  const shared = [plots["over-time"], plots["nodes"]];
  let following = false;
  shared.forEach((plot, position) => plot.on("plotly_relayout", (change) => {
    const touched = Object.keys(change).some((key) => key.startsWith("xaxis."));
    if (following || !touched) return;
    following = true;
    const range = plot.layout.xaxis.range.slice();
    Plotly.relayout(shared[1 - position], { "xaxis.range": range }).then(() => { following = false; });
  }));

  plots["nodes"].on("plotly_click", (event) => {
    const position = event.points[0].customdata;
    const record = Number.isInteger(position) && document.getElementById(`preemption-${position}`);
    if (!record) return;
    filter.value = "";
    showMatching();
    record.open = true;
    record.scrollIntoView({ block: "center" });
  });

  const filter = document.getElementById("filter");
  const records = [...document.querySelectorAll("#preemptions details")];
  const showMatching = () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const record of records) record.hidden = !record.textContent.toLowerCase().includes(wanted);
  };
  filter.addEventListener("input", showMatching);
})();
