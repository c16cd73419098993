import type { Api } from './api.js';

export async function apiServerReady(api: Api): Promise<void> {
  await api.until('kube-apiserver', async () => (await api.text('GET', '/readyz')) === 'ok');
}

/** Pods can be created in `default` once the controller manager has made its service account. */
export async function serviceAccountReady(api: Api): Promise<void> {
  await api.until('the service account `default`', async () => {
    await api.request('GET', '/api/v1/namespaces/default/serviceaccounts/default');
    return true;
  });
}
