import type { ProbeResult, RealtimeProbe } from '../../constructs/kit/kind.js';
import { reasonOf, TIMEOUT_MS, TooLarge } from './http-probe.js';
import { NoWebSocket, WebSocketClient } from './websocket.js';

/** Of Engine.IO 4 and Socket.IO 5: the first character is Engine.IO's, the second Socket.IO's. */
const PING = '2';
const PONG = '3';
const CONNECT = '40';
const EVENT = '42';
const REFUSED = '44';

/**
 * Joins a site's namespace by a websocket as Guest, and asks for an event. The framework answers only
 * after the site itself has said whose session it is. A tenant controls the servers: see `probe`.
 */
export async function probeRealtime(
  wanted: RealtimeProbe,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const what = `websocket for ${wanted.host}`;
  const timeout = new AbortController();
  const timer = setTimeout(() => {
    timeout.abort(new DOMException('no answer in time', 'TimeoutError'));
  }, TIMEOUT_MS);
  try {
    const problem = await join(wanted, AbortSignal.any([signal, timeout.signal]));
    const message = problem === undefined ? '' : `${what}: ${problem}`;
    return { ok: problem === undefined, message, advisory: true };
  } catch (error) {
    return { ok: false, message: `${what}: ${problemOf(error, wanted)}`, advisory: true };
  } finally {
    clearTimeout(timer);
  }
}

/** @returns why the event did not come */
async function join(
  { url, host, namespace }: RealtimeProbe,
  signal: AbortSignal,
): Promise<string | undefined> {
  const headers = { Host: host, Cookie: 'sid=Guest' };
  const client = await WebSocketClient.open(url, headers, signal);
  const next = async (): Promise<string> => {
    let packet = await client.receive();
    for (; packet === PING; packet = await client.receive()) client.send(PONG);
    return packet;
  };
  try {
    if (!(await next()).startsWith('0')) return 'the server does not speak Engine.IO';
    client.send(`${CONNECT}/${namespace},`);
    const answer = await next();
    if (answer.startsWith(REFUSED)) return `the session check failed: ${refusal(answer)}`;
    if (!answer.startsWith(`${CONNECT}/${namespace},`)) return 'the namespace was not joined';
    client.send(`${EVENT}/${namespace},["ping"]`);
    return (await next()) === `${EVENT}/${namespace},["pong"]` ? undefined : 'another event came';
  } finally {
    client.close();
  }
}

/** The framework's words, if they are known: a tenant chooses the others. */
function refusal(packet: string): string {
  const [message] = /Unauthorized|Invalid (?:namespace|origin)/.exec(packet) ?? ['unknown answer'];
  return message;
}

function problemOf(error: unknown, { url }: RealtimeProbe): string {
  if (error instanceof NoWebSocket) return error.message;
  if (error instanceof TooLarge) return 'the answer is too long';
  return `no event from ${new URL(url).host}: ${reasonOf(error)}`;
}
