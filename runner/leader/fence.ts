import type { Client, Fence, Method, RequestOptions } from '../api/client.js';

/** A write was not sent, since this process may no longer be the leader. */
export class NotLeading extends Error {
  override readonly name = 'NotLeading';
}

/** The permission to write. */
export interface Permission {
  /** Asked before each attempt, since a call may be retried for long. */
  readonly mayWrite: () => boolean;
  /** Aborted when the permission ends: aborts the writes that still wait for a connection or a response. */
  readonly signal?: (() => AbortSignal | undefined) | undefined;
}

/** A client that writes only while it may. */
export function fenced(client: Client, { mayWrite, signal }: Permission): Client {
  const fence = (what: string): Fence => ({
    mayStart: () => {
      if (!mayWrite()) throw new NotLeading(`${what}: not sent: another replica may be the leader`);
    },
    signal: signal?.(),
  });
  return {
    request: <T>(method: Method, path: string, options?: RequestOptions): Promise<T> =>
      client.request<T>(
        method,
        path,
        method === 'GET' ? options : { ...options, fence: fence(`${method} ${path}`) },
      ),
    apply: <T>(path: string, object: unknown, fieldManager: string): Promise<T> =>
      client.apply<T>(path, object, fieldManager, { fence: fence(`apply ${path}`) }),
    watch: client.watch.bind(client),
    calls: client.calls,
    close: () => client.close(),
  };
}
