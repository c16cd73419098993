import type { Client, Method, RequestOptions } from '../api/client.js';

/** A write that was not sent, since this process may no longer be the leader. */
export class NotLeading extends Error {
  override readonly name = 'NotLeading';
}

/** A client that reads always, and writes only while it may. */
export function fenced(client: Client, mayWrite: () => boolean): Client {
  const check = (what: string): void => {
    if (!mayWrite()) throw new NotLeading(`${what} is not sent: another replica may lead`);
  };
  return {
    request: async <T>(method: Method, path: string, options?: RequestOptions): Promise<T> => {
      if (method !== 'GET') check(`${method} ${path}`);
      return await client.request<T>(method, path, options);
    },
    apply: async <T>(path: string, object: unknown, fieldManager: string): Promise<T> => {
      check(`apply ${path}`);
      return await client.apply<T>(path, object, fieldManager);
    },
    watch: client.watch.bind(client),
    calls: client.calls,
    close: () => client.close(),
  };
}
