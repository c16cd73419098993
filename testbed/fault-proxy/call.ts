import type { IncomingMessage } from 'node:http';

/** A call on its way to the API server. */
export interface Call {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: string;
  readonly isWatch: boolean;
  /** Whether it lists a collection of objects. */
  readonly isList: boolean;
  /** Whether it changes a resource or a child; Events and Leases do not count. */
  readonly isWrite: boolean;
}

export function callOf({ method = 'GET', url = '/' }: IncomingMessage, body: string): Call {
  const { pathname, searchParams: query } = new URL(url, 'http://proxy');
  const isWatch = query.get('watch') === 'true';
  const isWrite = method !== 'GET' && !/\/(events|leases)(\/|$)/.test(pathname);
  const isCollection = /\/namespaces\/[^/]+\/[^/]+$|^\/(api|apis\/[^/]+)\/v\w+\/\w+$/.test(
    pathname,
  );
  const isList = method === 'GET' && !isWatch && isCollection;
  return { method, path: pathname, query, body, isWatch, isList, isWrite };
}
