import type { Reply, Route } from './http-server.js';

/** A health check. */
export interface Check {
  readonly name: string;
  /** Empty if the check passes. */
  problems(): readonly string[];
}

/**
 * A health endpoint: 200 and `ok`, or 500 and a line for each check that fails. `?verbose` lists all.
 * It responds from memory, so that a probe waits for the event loop only.
 */
export function health(checks: readonly Check[]): Route {
  return (request): Reply => {
    const results = checks.map((check) => ({ name: check.name, problems: check.problems() }));
    const failing = results.filter(({ problems }) => problems.length > 0);
    const verbose = new URLSearchParams((request.url ?? '').split('?')[1]).has('verbose');
    const shown = verbose ? results : failing;
    const lines = shown.map(({ name, problems }) =>
      problems.length > 0 ? `[-]${name} failed: ${problems.join('; ')}` : `[+]${name} ok`,
    );
    if (failing.length === 0) lines.push('ok');
    return { status: failing.length === 0 ? 200 : 500, body: lines.join('\n') };
  };
}
