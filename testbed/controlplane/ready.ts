import { connect } from 'node:net';

import type { AdminClient } from './admin-client.js';

export async function apiServerReady(api: AdminClient, server: string): Promise<void> {
  // The client retries a refused connection with a backoff; the port shows first when the server is
  // up.
  await api.until('the port of kube-apiserver', () => isListening(server));
  await api.until('kube-apiserver', async () => (await api.text('/readyz')) === 'ok');
}

/** Pods can be created in `default` once the controller manager has made its service account. */
export async function serviceAccountReady(api: AdminClient): Promise<void> {
  await api.until('the service account `default`', async () => {
    await api.request('GET', '/api/v1/namespaces/default/serviceaccounts/default');
    return true;
  });
}

function isListening(server: string): Promise<boolean> {
  const { hostname, port } = new URL(server);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    const end = (listening: boolean): void => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
