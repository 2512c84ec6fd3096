"use strict";
// What all pages share: the figures' data, and how plotly is to treat them.
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
