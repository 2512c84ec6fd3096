// What one can do to the cluster, through the Kubernetes API like anybody else.

/** @import { Pod, Workload } from "./model.js" */
/** @typedef {{namespace: string, name: string, cpu?: string, memory?: string, priorityClass?: string, stopSeconds?: string}} PodFields */

import { Refused, request } from "./session.js";

const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const EVICTION_PAUSE = 3000;
const EVICTION_TRIES = 20;

/**
 * @param {string} path
 * @param {string} name
 */
const named = (path, name) => `${path}/${encodeURIComponent(name)}`;
/**
 * @param {string} namespace
 * @param {string} plural
 */
const inNamespace = (namespace, plural) => `namespaces/${encodeURIComponent(namespace)}/${plural}`;

/**
 * @param {string} node
 * @param {boolean} yes
 */
export const cordon = (node, yes) =>
  request("PATCH", named("/api/v1/nodes", node), { spec: { unschedulable: yes } }, MERGE);

/** @param {Pod} pod */
export const deletePod = (pod) => request("DELETE", named(`/api/v1/${inNamespace(pod.namespace, "pods")}`, pod.name));

/**
 * @param {Workload} workload
 * @param {number} replicas
 */
export function scale(workload, replicas) {
  const plural = `${workload.kind.toLowerCase()}s`;
  const path = named(`/apis/apps/v1/${inNamespace(workload.namespace, plural)}`, workload.name);
  return request("PATCH", `${path}/scale`, { spec: { replicas } }, MERGE);
}

/**
 * As a node controller notes it when a kubelet falls silent, and when it is back.
 * @param {string} node
 * @param {boolean} isReady
 */
export function setReady(node, isReady) {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const said = isReady
    ? { status: "True", reason: "KubeletReady", message: "kubelet is posting ready status" }
    : { status: "Unknown", reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." };
  const condition = { type: "Ready", ...said, lastHeartbeatTime: now, lastTransitionTime: now };
  return request("PATCH", `${named("/api/v1/nodes", node)}/status`, { status: { conditions: [condition] } }, STRATEGIC);
}

/**
 * Cordons the node, then evicts its pods; those that a budget protects are asked for again.
 * @param {string} node
 * @param {Pod[]} pods
 * @param {(text: string) => void} tell
 */
export async function drain(node, pods, tell) {
  await cordon(node, true);
  const leaving = pods.filter((pod) => !(pod.owner ?? "").startsWith("DaemonSet/"));
  const outcomes = await Promise.all(leaving.map((pod) => evict(pod, tell)));
  tell(`Drained ${node}: ${outcomes.filter(Boolean).length} of ${leaving.length} pods evicted.`);
}

/**
 * @param {Pod} pod
 * @param {(text: string) => void} tell
 */
async function evict(pod, tell) {
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name: pod.name, namespace: pod.namespace } };
  const path = `${named(`/api/v1/${inNamespace(pod.namespace, "pods")}`, pod.name)}/eviction`;
  for (let tries = 0; tries < EVICTION_TRIES; tries += 1) {
    try {
      await request("POST", path, body);
      return true;
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (error.status === 404) return true;
      if (error.status !== 429) {
        tell(`${pod.name}: ${error.message}`);
        return false;
      }
      tell(`${pod.name} waits: ${error.message}`);
      await new Promise((resolve) => setTimeout(resolve, EVICTION_PAUSE));
    }
  }
  return false;
}

/** @param {PodFields} fields */
export function createPod(fields) {
  const { namespace, name } = fields;
  return request("POST", `/api/v1/${inNamespace(namespace, "pods")}`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, annotations: annotations(fields) },
    spec: podSpec(fields),
  });
}

/** @param {PodFields & {replicas: number}} fields */
export function createDeployment(fields) {
  const { namespace, name, replicas } = fields;
  const labels = { app: name };
  const template = { metadata: { labels, annotations: annotations(fields) }, spec: podSpec(fields) };
  return request("POST", `/apis/apps/v1/${inNamespace(namespace, "deployments")}`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: { replicas, selector: { matchLabels: labels }, template },
  });
}

/** @param {{name: string, value: number}} fields */
export function createPriorityClass({ name, value }) {
  const body = { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name }, value };
  return request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body);
}

/** @param {PodFields} fields */
function podSpec({ cpu, memory, priorityClass }) {
  const requests = { ...(cpu && { cpu }), ...(memory && { memory }) };
  return {
    containers: [{ name: "main", image: "example/image", resources: { requests } }],
    ...(priorityClass && { priorityClassName: priorityClass }),
  };
}

/**
 * Simulated kubelets stop a pod as fast as this says, within its grace period.
 * @param {PodFields} fields
 * @returns {Record<string, string>}
 */
function annotations({ stopSeconds }) {
  return stopSeconds ? { "bayplan/stop-seconds": stopSeconds } : {};
}
