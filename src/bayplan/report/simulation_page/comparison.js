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
  for (const [id, figure] of Object.entries(figures)) {
    Plotly.newPlot(document.getElementById(id), figure.data, figure.layout, config);
  }

  for (const filter of document.querySelectorAll("input[type=search]")) {
    const rows = [...filter.closest("section").querySelectorAll("tbody tr")];
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
})();
