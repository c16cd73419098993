import type { Client, Method, RequestOptions } from '../api/client.js';

/** A write was not sent, since this process may no longer be the leader. */
export class NotLeading extends Error {
  override readonly name = 'NotLeading';
}

/** A client that writes only while it may. Each attempt checks again, since a call may be retried for long. */
export function fenced(client: Client, mayWrite: () => boolean): Client {
  const fence = (what: string): Pick<RequestOptions, 'mayStart'> => ({
    mayStart: () => {
      if (!mayWrite()) throw new NotLeading(`${what}: not sent: another replica may be the leader`);
    },
  });
  return {
    request: <T>(method: Method, path: string, options?: RequestOptions): Promise<T> =>
      client.request<T>(
        method,
        path,
        method === 'GET' ? options : { ...options, ...fence(`${method} ${path}`) },
      ),
    apply: <T>(path: string, object: unknown, fieldManager: string): Promise<T> =>
      client.apply<T>(path, object, fieldManager, fence(`apply ${path}`)),
    watch: client.watch.bind(client),
    calls: client.calls,
    close: () => client.close(),
  };
}
