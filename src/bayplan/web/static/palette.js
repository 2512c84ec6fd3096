// Colours by priority: ordered, and told apart by people who confuse red and green, because they go from pale
// blue-grey over blue to orange and differ in lightness. The colours themselves are in plan.css (.p0 … .p5, .p-system).

const SYSTEM_FROM = 2_000_000_000;
const STEPS = 6;

/** The levels of a cluster: one for each priority in use, neighbours together if there are more than colours. */
export function levels(model) {
  const values = new Set([0]);
  for (const { value } of model.classes.values()) if (value < SYSTEM_FROM) values.add(value);
  for (const pod of model.pods.values()) if ((pod.priority ?? 0) < SYSTEM_FROM) values.add(pod.priority ?? 0);
  const sorted = [...values].sort((a, b) => a - b);
  const groups = Math.min(STEPS, sorted.length);
  const made = [];
  for (let group = 0; group < groups; group += 1) {
    const members = sorted.slice((group * sorted.length) / groups, ((group + 1) * sorted.length) / groups);
    const step = groups > 1 ? Math.round((group * (STEPS - 1)) / (groups - 1)) : 0;
    made.push({ from: members[0], to: members[members.length - 1], style: `p${step}` });
  }
  if ([...model.pods.values()].some((pod) => (pod.priority ?? 0) >= SYSTEM_FROM)) {
    made.push({ from: SYSTEM_FROM, to: Infinity, style: "p-system" });
  }
  return made;
}

export function styleOf(made, priority = 0) {
  if (priority >= SYSTEM_FROM) return "p-system";
  let found = made[0];
  for (const level of made) if (level.from <= priority) found = level;
  return found?.style ?? "p0";
}

export function nameOf(level, model) {
  if (level.style === "p-system") return "system";
  const span = level.from === level.to ? level.from.toLocaleString("en") : `${level.from}–${level.to}`;
  const names = [...model.classes.values()]
    .filter(({ value }) => value >= level.from && value <= level.to)
    .map(({ name }) => name);
  return names.length ? `${span} ${names.slice(0, 2).join(", ")}${names.length > 2 ? "…" : ""}` : span;
}
