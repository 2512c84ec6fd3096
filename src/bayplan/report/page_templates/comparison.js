"use strict";
(() => {
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
