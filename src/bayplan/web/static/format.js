// Amounts, times and counts as people write them.

const BYTES = [["Ei", 2 ** 60], ["Pi", 2 ** 50], ["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20], ["Ki", 2 ** 10]];

export function cpu(milli = 0) {
  return milli % 1000 ? `${milli}m` : `${milli / 1000}`;
}

export function memory(bytes = 0) {
  for (const [unit, size] of BYTES) if (bytes >= size) return `${Number((bytes / size).toPrecision(3))}${unit}`;
  return String(bytes);
}

export const amount = (resource, value) => (resource === "cpu" ? cpu(value) : memory(value));

export function requests({ cpu: milli = 0, memory: bytes = 0 }) {
  const parts = [milli && `${cpu(milli)} cpu`, bytes && `${memory(bytes)} memory`].filter(Boolean);
  return parts.join(", ") || "requests nothing";
}

export const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)}%` : "–");

export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export const clockTime = (at) => new Date(at).toLocaleTimeString("en-GB");

export function duration(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** node-2 before node-10. */
export const naturally = new Intl.Collator("en", { numeric: true }).compare;
