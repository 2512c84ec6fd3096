"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: "hover",
    // Plotly offers by default to send the chart to a server of its maker. A cluster's data stays here.
    showSendToCloud: false,
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const plots = {};
  for (const [id, figure] of Object.entries(figures)) {
    plots[id] = document.getElementById(id);
    Plotly.newPlot(plots[id], figure.data, figure.layout, id === "who-evicted" ? { ...config, displayModeBar: false } : config);
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
