// Light and dark: as the system says, until somebody says otherwise.

const KEY = "bayplan-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

const current = () => document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");

export function startTheme(button) {
  const kept = localStorage.getItem(KEY);
  if (kept) document.documentElement.dataset.theme = kept;
  button.addEventListener("click", () => {
    const next = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(KEY, next);
  });
}
