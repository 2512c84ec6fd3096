// Server-sent events over fetch: EventSource cannot send the token. Reconnects; each connection begins with a snapshot.

import { authorized, Refused } from "./session.js";

const PAUSE_MIN = 500;
const PAUSE_MAX = 8000;

/** Calls heard(event, data) for each message, and lost(error) when the connection breaks; until a token is refused. */
export async function listen(heard, lost) {
  let pause = PAUSE_MIN;
  for (;;) {
    try {
      await readAll(await connect(), (event, data) => {
        pause = PAUSE_MIN;
        heard(event, data);
      });
      lost(null);
    } catch (error) {
      if (error instanceof Refused && error.status === 401) throw error;
      lost(error);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, PAUSE_MAX);
  }
}

async function connect() {
  const answer = await authorized("/dashboard/events", { headers: { Accept: "text/event-stream" } });
  if (!answer.ok) throw new Refused(answer.status, answer.statusText);
  return answer.body.pipeThrough(new TextDecoderStream());
}

async function readAll(stream, heard) {
  const reader = stream.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const messages = (rest + value).split("\n\n");
    rest = messages.pop();
    for (const message of messages) read(message, heard);
  }
}

function read(message, heard) {
  const fields = {};
  for (const line of message.split("\n")) {
    const colon = line.indexOf(": ");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
  }
  if (fields.event) heard(fields.event, JSON.parse(fields.data));
}
