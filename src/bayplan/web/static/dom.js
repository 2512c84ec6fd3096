// Elements made from data. Text only ever becomes text nodes, so that no name can be markup.

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * The element of the page with this id.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element #${id}`);
  return found;
}

/**
 * element("li.pod", {title: "x", onclick: f, data: {key: "a"}}, "text", child, …)
 * @param {string} kind
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function element(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  for (const child of children.flat()) if (child) made.append(child);
  return made;
}

/**
 * @param {HTMLElement} made
 * @param {string} name
 * @param {any} value
 */
function setAttribute(made, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
  else if (name === "data") Object.assign(made.dataset, value);
  else made.setAttribute(name, value === true ? "" : value);
}

/**
 * Gives a parent these children in this order, touching only what differs.
 * @param {Element} parent
 * @param {Iterable<Node>} children
 */
export function arrange(parent, children) {
  let next = parent.firstChild;
  for (const child of children) {
    if (child === next) next = next.nextSibling;
    else parent.insertBefore(child, next);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

/**
 * @param {Element} made
 * @param {string} text
 */
export function setText(made, text) {
  if (made.textContent !== text) made.textContent = text;
}
