import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';
import type { HttpProbe, ProbeResult } from '../../constructs/kit/kind.js';

const TIMEOUT_MS = 5_000;

/** Makes the HTTP checks of kinds, over a few kept connections. */
export class Prober {
  readonly #agent = new Agent({ connections: 4, keepAliveTimeout: 10_000 });

  /** Never rejects: the result has the error, without times or addresses that change. */
  async probe({ url, host, expectStatus, expectBody }: HttpProbe): Promise<ProbeResult> {
    const what = `GET ${new URL(url).pathname} for ${host}`;
    try {
      const response = await request(url, {
        dispatcher: this.#agent,
        headers: { host },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const body = await response.body.text();
      if (response.statusCode !== expectStatus) {
        return {
          ok: false,
          message: `${what}: expected status ${expectStatus}, got ${response.statusCode}`,
        };
      }
      return isDeepStrictEqual(parse(body), expectBody)
        ? { ok: true, message: '' }
        : { ok: false, message: `${what}: unexpected body with status ${expectStatus}` };
    } catch (error) {
      const why = reasonOf(error);
      return { ok: false, message: `${what}: no response from ${new URL(url).host}: ${why}` };
    }
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }
}

/** The code of a system error, the name of any other: a timeout has a number as its code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no response';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
