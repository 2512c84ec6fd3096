// Elements made from data. Text only ever becomes text nodes, so that no name can be markup.

export const byId = (id) => document.getElementById(id);

/** element("li.pod", {title: "x", onclick: f, data: {key: "a"}}, "text", child, …) */
export function element(kind, attributes = {}, ...children) {
  const [tag, ...classes] = kind.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) setAttribute(made, name, value);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function setAttribute(made, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
  else if (name === "data") Object.assign(made.dataset, value);
  else made.setAttribute(name, value === true ? "" : value);
}

/** Gives a parent these children in this order, touching only what differs. */
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

export function setText(made, text) {
  if (made.textContent !== text) made.textContent = text;
}
