// The dialogs: what to add, and the token if nobody gave one.

import { createDeployment, createPod, createPriorityClass } from "./actions.js";
import { byId, element } from "./dom.js";
import { naturally } from "./format.js";

const dialog = () => byId("dialog");

function field(label, control, hint = "") {
  return element("label.field", {}, element("span", {}, label), control, hint && element("small", {}, hint));
}

const input = (name, attributes = {}) => element("input", { name, autocomplete: "off", spellcheck: "false", ...attributes });

const select = (name, options) =>
  element("select", { name }, options.map(([value, text]) => element("option", { value }, text)));

/** Shows a form; what `send` throws is shown in it, otherwise the dialog closes. */
function show(title, fields, button, send, mayCancel = true) {
  const problem = element("p.problem", { role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      await send(Object.fromEntries(new FormData(event.target)));
      dialog().close();
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const close = mayCancel ? element("button", { type: "button", onclick: () => dialog().close() }, "Cancel") : null;
  dialog().oncancel = (event) => mayCancel || event.preventDefault();
  const buttons = element("div.buttons", {}, element("button.primary", { type: "submit" }, button), close);
  const form = element("form", { onsubmit: submit }, ...fields, problem, buttons);
  dialog().replaceChildren(element("h2", { id: "dialog-title" }, title), form);
  if (!dialog().open) dialog().showModal();
  form.querySelector("input:not([type=radio]), select")?.focus();
  return form;
}

const KINDS = { pod: "Pod", deployment: "Deployment", class: "Priority class" };

export function showAdd(model, tell, kind = "pod") {
  const kinds = Object.entries(KINDS).map(([value, text]) =>
    element("label", {}, element("input", {
      type: "radio", name: "kind", value, checked: value === kind, onchange: () => showAdd(model, tell, value),
    }), element("span", {}, text)),
  );
  const chooser = element("fieldset.switch", {}, element("legend", {}, "Kind"), kinds);
  const own = kind === "class" ? classFields() : podFields(model, kind === "deployment");
  show("Add to the cluster", [chooser, ...own], "Add", async (values) => {
    await add(values);
    tell(`${KINDS[values.kind]} ${values.name} added.`);
  });
}

function add(values) {
  if (values.kind === "class") return createPriorityClass({ name: values.name, value: Number(values.value) });
  if (values.kind === "deployment") return createDeployment({ ...values, replicas: Number(values.replicas) });
  return createPod(values);
}

function podFields(model, isDeployment) {
  const classes = [...model.classes.values()].sort((one, other) => one.value - other.value);
  const options = classes.map(({ name, value }) => [name, `${name} (${value.toLocaleString("en")})`]);
  const names = [...model.namespaces.values()].map(({ name }) => name).sort(naturally);
  const namespaces = [...names.filter((name) => name === "default"), ...names.filter((name) => name !== "default")];
  return [
    field("Name", input("name", { required: true, placeholder: isDeployment ? "web" : "urgent-job" })),
    field("Namespace", select("namespace", namespaces.map((name) => [name, name]))),
    isDeployment && field("Replicas", input("replicas", { type: "number", min: 0, value: 3, required: true })),
    element(
      "div.pair",
      {},
      field("cpu request", input("cpu", { value: "500m", placeholder: "500m" })),
      field("Memory request", input("memory", { value: "256Mi", placeholder: "256Mi" })),
    ),
    field("Priority class", select("priorityClass", [["", "none"], ...options])),
    field("Time to stop, in seconds", input("stopSeconds", { type: "number", min: 0, max: 600, placeholder: "default" }),
      "How long the pod’s processes take to exit, up to its grace period."),
  ].filter(Boolean);
}

const classFields = () => [
  field("Name", input("name", { required: true, placeholder: "urgent" })),
  field("Value", input("value", { type: "number", required: true, value: 1000, max: 1000000000 }), "Pods with a higher value are scheduled first, and may preempt lower ones."),
];

export function askForToken(refused, given) {
  const hint = "bayplan up prints it as part of the dashboard’s address.";
  const fields = [field("Token", input("token", { type: "password", required: true, autocomplete: "current-password" }), hint)];
  const form = show("Enter the token of this cluster", fields, "Open", async ({ token }) => given(token), false);
  if (refused) form.querySelector(".problem").textContent = "That token was not accepted.";
}
