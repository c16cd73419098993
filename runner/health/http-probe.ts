import { isDeepStrictEqual } from 'node:util';
import { Agent, request } from 'undici';
import type { HttpProbe, ProbeResult } from '../../constructs/kit/kind.js';

const TIMEOUT_MS = 5_000;

/** Makes the HTTP checks that kinds ask for, over a few kept connections. */
export class Prober {
  readonly #agent = new Agent({ connections: 4, keepAliveTimeout: 10_000 });

  /** Never rejects: what went wrong is in the result, in words without times or addresses that change. */
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
          message: `${what} answers ${response.statusCode}, not ${expectStatus}`,
        };
      }
      return isDeepStrictEqual(parse(body), expectBody)
        ? { ok: true, message: '' }
        : { ok: false, message: `${what} answers ${expectStatus} with another body than expected` };
    } catch (error) {
      const why = reasonOf(error);
      return { ok: false, message: `${what} gets no answer from ${new URL(url).host}: ${why}` };
    }
  }

  async close(): Promise<void> {
    await this.#agent.close();
  }
}

/** The code of a system's error, the name of another: what runs out of time has a number for a code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
