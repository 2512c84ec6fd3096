// Server-sent events over fetch: EventSource cannot send the token. Reconnects; each connection begins with a snapshot.

/** @import { Message } from "./history.js" */
/** @typedef {(event: string, message: Message) => void} Heard */

import { authorized, Refused } from "./session.js";

const PAUSE_MIN = 500;
const PAUSE_MAX = 8000;

/**
 * Calls heard(event, message) for each message, and lost() when the connection breaks; until a token is refused.
 * @param {Heard} heard
 * @param {() => void} lost
 */
export async function listen(heard, lost) {
  let pause = PAUSE_MIN;
  for (;;) {
    try {
      await readAll(await connect(), (event, data) => {
        pause = PAUSE_MIN;
        heard(event, data);
      });
    } catch (error) {
      if (error instanceof Refused && error.status === 401) throw error;
    }
    lost();
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, PAUSE_MAX);
  }
}

async function connect() {
  const answer = await authorized("/dashboard/events", { headers: { Accept: "text/event-stream" } });
  if (!answer.ok || !answer.body) throw new Refused(answer.status, answer.statusText);
  return answer.body.pipeThrough(new TextDecoderStream());
}

/**
 * @param {ReadableStream<string>} stream
 * @param {Heard} heard
 */
async function readAll(stream, heard) {
  const reader = stream.getReader();
  const parse = parser(heard);
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    parse(value);
  }
}

/**
 * A function that takes pieces of a stream, wherever it was cut; only what is new is searched for the end of a message.
 * @param {Heard} heard
 */
export function parser(heard) {
  let rest = "";
  return (/** @type {string} */ piece) => {
    const from = Math.max(0, rest.length - 1);
    rest += piece;
    if (rest.indexOf("\n\n", from) < 0) return;
    const messages = rest.split("\n\n");
    rest = messages.pop() ?? "";
    for (const message of messages) read(message, heard);
  };
}

/**
 * @param {string} message
 * @param {Heard} heard
 */
function read(message, heard) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (const line of message.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  if (fields.event) heard(fields.event, JSON.parse(fields.data));
}
