// The dialogs: what to add, and the token if nobody gave one.

/** @import { Model } from "./model.js" */

import { createDeployment, createPod, createPriorityClass } from "./actions.js";
import { byId, element } from "./dom.js";
import { digits, naturally } from "./format.js";

const dialog = () => /** @type {HTMLDialogElement} */ (byId("dialog"));

/**
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
function field(label, control, hint = "") {
  return element("label.field", {}, element("span", {}, label), control, hint && element("small", {}, hint));
}

/**
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 */
const input = (name, attributes = {}) =>
  element("input", { name, autocomplete: "off", spellcheck: "false", ...attributes });

/**
 * @param {string} name
 * @param {string[][]} options
 */
const select = (name, options) =>
  element(
    "select",
    { name },
    options.map(([value, text]) => element("option", { value }, text)),
  );

/**
 * Shows a form; what `send` throws is shown in it, otherwise the dialog closes.
 * @param {string} title
 * @param {(HTMLElement | null)[]} fields
 * @param {string} button
 * @param {(values: any) => Promise<void>} send
 * @param {boolean} [mayCancel]
 */
function show(title, fields, button, send, mayCancel = true) {
  const problem = element("p.problem", { role: "alert" });
  /** @param {SubmitEvent} event */
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      await send(Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (event.target))));
      dialog().close();
    } catch (error) {
      problem.textContent = error instanceof Error ? error.message : String(error);
    }
  };
  const close = mayCancel ? element("button", { type: "button", onclick: () => dialog().close() }, "Cancel") : null;
  dialog().oncancel = (event) => {
    if (!mayCancel) event.preventDefault();
  };
  const buttons = element("div.buttons", {}, element("button.primary", { type: "submit" }, button), close);
  const form = element("form", { onsubmit: submit }, ...fields, problem, buttons);
  dialog().replaceChildren(element("h2", { id: "dialog-title" }, title), form);
  if (!dialog().open) dialog().showModal();
  /** @type {HTMLElement | null} */ (form.querySelector("input:not([type=radio]), select"))?.focus();
  return form;
}

/** @type {Record<string, string>} */
const KINDS = { pod: "Pod", deployment: "Deployment", class: "Priority class" };

/**
 * @param {Model} model
 * @param {(text: string) => void} tell
 * @param {string} [kind]
 */
export function showAdd(model, tell, kind = "pod") {
  const kinds = Object.entries(KINDS).map(([value, text]) =>
    element(
      "label",
      {},
      element("input", {
        type: "radio",
        name: "kind",
        value,
        checked: value === kind,
        onchange: () => showAdd(model, tell, value),
      }),
      element("span", {}, text),
    ),
  );
  const chooser = element("fieldset.switch", {}, element("legend", {}, "Kind"), kinds);
  const own = kind === "class" ? classFields() : podFields(model, kind === "deployment");
  show("Add to the cluster", [chooser, ...own], "Add", async (values) => {
    await add(values);
    tell(`${KINDS[values.kind]} ${values.name} added.`);
  });
}

/** @param {any} values */
function add(values) {
  if (values.kind === "class") return createPriorityClass({ name: values.name, value: Number(values.value) });
  if (values.kind === "deployment") return createDeployment({ ...values, replicas: Number(values.replicas) });
  return createPod(values);
}

/**
 * @param {Model} model
 * @param {boolean} isDeployment
 */
function podFields(model, isDeployment) {
  const classes = [...model.classes.values()].sort((one, other) => one.value - other.value);
  const options = classes.map(({ name, value }) => [name, `${name} (${digits(value)})`]);
  const names = [...model.namespaces.values()].map(({ name }) => name).sort(naturally);
  const namespaces = [...names.filter((name) => name === "default"), ...names.filter((name) => name !== "default")];
  return [
    field("Name", input("name", { required: true, placeholder: isDeployment ? "web" : "urgent-job" })),
    field(
      "Namespace",
      select(
        "namespace",
        namespaces.map((name) => [name, name]),
      ),
    ),
    isDeployment ? field("Replicas", input("replicas", { type: "number", min: 0, value: 3, required: true })) : null,
    element(
      "div.pair",
      {},
      field("cpu request", input("cpu", { value: "500m", placeholder: "500m" })),
      field("Memory request", input("memory", { value: "256Mi", placeholder: "256Mi" })),
    ),
    field("Priority class", select("priorityClass", [["", "none"], ...options])),
    field(
      "Time to stop, in seconds",
      input("stopSeconds", { type: "number", min: 0, max: 600, placeholder: "default" }),
      "How long the pod’s processes take to exit, up to its grace period.",
    ),
  ];
}

const classFields = () => [
  field("Name", input("name", { required: true, placeholder: "urgent" })),
  field(
    "Value",
    input("value", { type: "number", required: true, value: 1000, max: 1000000000 }),
    "Pods with a higher value are scheduled first, and may preempt lower ones.",
  ),
];

/**
 * @param {boolean} refused whether one was given that was not accepted
 * @param {(token: string) => void} given
 */
export function askForToken(refused, given) {
  const hint = "bayplan up prints it as part of the dashboard’s address.";
  const fields = [
    field("Token", input("token", { type: "password", required: true, autocomplete: "current-password" }), hint),
  ];
  const form = show("Enter the token of this cluster", fields, "Open", async ({ token }) => given(token), false);
  const problem = form.querySelector(".problem");
  if (refused && problem) problem.textContent = "That token was not accepted.";
}
