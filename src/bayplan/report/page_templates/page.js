(() => {
  const filter = document.getElementById("filter");
  if (!filter) return;
  const records = [...document.querySelectorAll("#preemptions details")];
  const showMatching = () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const record of records) record.hidden = !record.textContent.toLowerCase().includes(wanted);
  };
  filter.addEventListener("input", showMatching);

  // A mark in a plot leads to its record, which opens.
  const openNamed = () => {
    const record = document.getElementById(location.hash.slice(1));
    if (!records.includes(record)) return;
    filter.value = "";
    showMatching();
    record.open = true;
    record.scrollIntoView({ block: "center" });
  };
  window.addEventListener("hashchange", openNamed);
  for (const link of document.querySelectorAll(".plot a")) link.addEventListener("click", () => setTimeout(openNamed));
  openNamed();
})();
