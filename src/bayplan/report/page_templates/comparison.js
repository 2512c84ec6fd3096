(() => {
  for (const filter of document.querySelectorAll("input[type=search]")) {
    const rows = [...filter.closest("section").querySelectorAll("tbody tr")];
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
})();
