// How somebody likes to look at the plan: kept by the browser, for the next time.

const PREFIX = "bayplan-";

/**
 * Lets a select choose a setting; calls `chosen` now and after each change.
 * @param {HTMLSelectElement} control
 * @param {(value: string) => void} chosen
 */
export function keepChoice(control, chosen) {
  const key = `${PREFIX}${control.id}`;
  const kept = localStorage.getItem(key);
  if (kept !== null && [...control.options].some(({ value }) => value === kept)) control.value = kept;
  control.addEventListener("change", () => {
    localStorage.setItem(key, control.value);
    chosen(control.value);
  });
  chosen(control.value);
}

/**
 * Light and dark: as the system says, until somebody says otherwise.
 * @param {HTMLElement} button
 */
export function startTheme(button) {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = localStorage.getItem(`${PREFIX}theme`);
  if (kept) root.dataset.theme = kept;
  button.addEventListener("click", () => {
    const current = root.dataset.theme ?? (dark.matches ? "dark" : "light");
    root.dataset.theme = current === "dark" ? "light" : "dark";
    localStorage.setItem(`${PREFIX}theme`, root.dataset.theme);
  });
}
