// Amounts, times and counts as people write them.

/** @type {[string, number][]} */
const BYTES = [
  ["Ei", 2 ** 60],
  ["Pi", 2 ** 50],
  ["Ti", 2 ** 40],
  ["Gi", 2 ** 30],
  ["Mi", 2 ** 20],
  ["Ki", 2 ** 10],
];

// Made once: to make one takes longer than to write a hundred numbers with it.
const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });
const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** 1,000,000 @param {number} number */
export const digits = (number) => numbers.format(number);

export function cpu(milli = 0) {
  return milli > 0 && milli < 1000 ? `${milli}m` : digits(milli / 1000);
}

export function memory(bytes = 0) {
  for (const [unit, size] of BYTES) if (bytes >= size) return `${Number((bytes / size).toPrecision(3))}${unit}`;
  return String(bytes);
}

/**
 * @param {"cpu" | "memory"} resource
 * @param {number} [value]
 */
export const amount = (resource, value) => (resource === "cpu" ? cpu(value) : memory(value));

/** @param {{cpu?: number, memory?: number}} amounts */
export function requests({ cpu: milli = 0, memory: bytes = 0 }) {
  const parts = [milli && `${cpu(milli)} cpu`, bytes && `${memory(bytes)} memory`].filter(Boolean);
  return parts.join(", ") || "requests nothing";
}

/**
 * @param {number} part
 * @param {number} [whole]
 */
export const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)}%` : "–");

/**
 * @param {number} number
 * @param {string} noun
 */
export const counted = (number, noun) => `${digits(number)} ${noun}${number === 1 ? "" : "s"}`;

/** @param {number | string} at */
export const clockTime = (at) => clock.format(new Date(at));

/** @param {number} milliseconds */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}

/** node-2 before node-10. */
export const naturally = new Intl.Collator("en", { numeric: true }).compare;
