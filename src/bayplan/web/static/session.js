// The token, asked for once and kept for this tab; and requests to this very server that carry it.

const KEY = "bayplan-token";

export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(KEY, given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY);
}

/** @param {string} token */
export const keepToken = (token) => sessionStorage.setItem(KEY, token);
export const forgetToken = () => sessionStorage.removeItem(KEY);

export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
export function authorized(path, options = {}) {
  const token = sessionStorage.getItem(KEY) ?? "";
  const headers = { ...options.headers, Authorization: `Bearer ${token}` };
  return fetch(path, { ...options, headers, cache: "no-store" });
}

/**
 * The JSON that is answered; Refused with the server's own words otherwise.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {string} [type]
 * @returns {Promise<any>}
 */
export async function request(method, path, body, type = "application/json") {
  const headers = { Accept: "application/json", ...(body !== undefined && { "Content-Type": type }) };
  const answer = await authorized(path, { method, headers, body: JSON.stringify(body) });
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, content.message ?? answer.statusText);
  return content;
}
