import { setTimeout as sleep } from 'node:timers/promises';

import type { KubeObject, ObjectMeta } from '../../constructs/kit/object.js';
import { bytesOf } from '../../constructs/kit/quantity.js';
import { isNotFound } from '../../runner/api/api-error.js';
import type { Client } from '../../runner/api/client.js';
import { Reflector } from '../../runner/cache/reflector.js';
import { NODE_NAME } from './configs.js';
import type { Storage } from './storage.js';

const PROVISIONER = 'app-operator.local/node';
const CLASSES = '/apis/storage.k8s.io/v1/storageclasses';
const VOLUMES = '/api/v1/persistentvolumes';
const PVCS = '/api/v1/persistentvolumeclaims';
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const RETRY_MS = 1_000;

/** Names of the StorageClasses; the first is the default. */
const STORAGE_CLASSES = ['standard', 'limited', 'one-node'] as const;

/** As the provisioner of kind and k3s words it. */
const ONE_NODE_ONLY =
  'failed to provision volume with StorageClass "one-node": NodePath only supports ReadWriteOnce and ReadWriteOncePod (1.22+) access modes';

interface PersistentVolumeClaim extends KubeObject {
  readonly metadata: ObjectMeta & { readonly namespace: string; readonly uid: string };
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
  };
  readonly status?: {
    readonly phase?: string;
    readonly capacity?: { readonly storage: string };
  };
}

interface Volume extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly capacity: { readonly storage: string };
    readonly persistentVolumeReclaimPolicy: string;
    readonly claimRef?: { readonly uid?: string };
  };
  readonly status?: { readonly phase?: string };
}

export interface ProvisionerProps {
  readonly client: Client;
  readonly storage: Storage;
  /** Called with each failure; the step is retried. Default: no calls. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Provisions, resizes and deletes the volumes of PersistentVolumeClaims: a `standard` volume is a
 * folder of any size and access mode, a `limited` volume is as large as its request, and `one-node`
 * refuses access modes of several nodes.
 */
export class Provisioner {
  readonly #pvcs = new Map<string, PersistentVolumeClaim>();
  readonly #volumes = new Map<string, Volume>();
  readonly #refused = new Set<string>();
  readonly #stop = new AbortController();
  #changed = Promise.withResolvers<undefined>();
  #running: Promise<unknown> | undefined;

  constructor(private readonly props: ProvisionerProps) {}

  /** Creates the StorageClasses, and begins. */
  async start(): Promise<void> {
    await Promise.all(
      STORAGE_CLASSES.map((name, index) =>
        this.props.client.apply(`${CLASSES}/${name}`, storageClass(name, index === 0), PROVISIONER),
      ),
    );
    const pvcs = this.#reflect(PVCS, this.#pvcs);
    const volumes = this.#reflect(VOLUMES, this.#volumes);
    this.#running = Promise.all([pvcs.run(), volumes.run(), this.#work()]);
    await Promise.all([pvcs.whenSynced, volumes.whenSynced]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#changed.resolve(undefined);
    await this.#running;
    await this.props.client.close();
  }

  #reflect<O extends KubeObject>(path: string, objects: Map<string, O>): Reflector {
    const keyOf = ({ metadata }: KubeObject): string =>
      [metadata.namespace ?? '', metadata.name].join('/');
    const changed = (): void => this.#changed.resolve(undefined);
    return new Reflector({
      client: this.props.client,
      path,
      signal: this.#stop.signal,
      now: () => performance.now(),
      random: Math.random,
      sink: {
        replace: (items) => {
          objects.clear();
          for (const item of items) objects.set(keyOf(item), item as O);
          changed();
          return undefined;
        },
        upsert: (item) => {
          objects.set(keyOf(item), item as O);
          changed();
        },
        remove: (item) => {
          objects.delete(keyOf(item));
          changed();
        },
      },
    });
  }

  /** Each change reconciles all claims and volumes: they are few. */
  async #work(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
      const pvcs = [...this.#pvcs.values()].map((pvc) => this.#serve(pvc));
      const volumes = [...this.#volumes.values()].map((volume) => this.#reclaim(volume));
      const failures = (await Promise.allSettled([...pvcs, ...volumes])).filter(
        (result) => result.status === 'rejected',
      );
      if (failures.length === 0) continue;
      for (const { reason } of failures) this.props.onError?.(reason);
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      this.#changed.resolve(undefined);
    }
  }

  async #serve(pvc: PersistentVolumeClaim): Promise<void> {
    const { metadata, spec } = pvc;
    if (metadata.deletionTimestamp || !isOurs(spec.storageClassName)) return;
    if (spec.volumeName) {
      await this.#grow(pvc, spec.volumeName);
      return;
    }
    const name = `pvc-${metadata.uid}`;
    // A claim is provisioned when its first pod is scheduled.
    if (!metadata.annotations?.[SELECTED_NODE] || this.#volumes.has(`/${name}`)) return;
    if (spec.storageClassName === 'one-node' && !spec.accessModes.every(isOfOneNode)) {
      await this.#refuse(pvc);
      return;
    }
    const { storage } = spec.resources.requests;
    await this.props.storage.create(name, bytesOf(storage), spec.storageClassName === 'limited');
    const path = this.props.storage.directory(name);
    await this.props.client.apply(`${VOLUMES}/${name}`, volumeFor(pvc, name, path), PROVISIONER);
  }

  /** Says once in an Event why a claim stays Pending. */
  async #refuse({ metadata: { namespace, name, uid } }: PersistentVolumeClaim): Promise<void> {
    if (this.#refused.has(uid)) return;
    const now = new Date().toISOString().replace(/\..*/, 'Z');
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name}.`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      type: 'Warning',
      reason: 'ProvisioningFailed',
      message: ONE_NODE_ONLY,
      source: { component: PROVISIONER },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
    await this.props.client.request('POST', `/api/v1/namespaces/${namespace}/events`, {
      body: event,
    });
    this.#refused.add(uid);
  }

  async #grow(pvc: PersistentVolumeClaim, volumeName: string): Promise<void> {
    const volume = this.#volumes.get(`/${volumeName}`);
    const wanted = pvc.spec.resources.requests.storage;
    const present = pvc.status?.capacity?.storage;
    if (!volume || !isProvisioned(volume) || present === undefined) return;
    if (bytesOf(wanted) <= bytesOf(present)) return;
    await this.props.storage.grow(volumeName, bytesOf(wanted));
    const { client } = this.props;
    const { namespace, name } = pvc.metadata;
    const body = { spec: { capacity: { storage: wanted } } };
    await client.request('PATCH', `${VOLUMES}/${volumeName}`, { body });
    await client.request(
      'PATCH',
      `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${name}/status`,
      { body: { status: { capacity: { storage: wanted }, conditions: [] } } },
    );
  }

  async #reclaim(volume: Volume): Promise<void> {
    const { metadata, spec, status } = volume;
    if (!isProvisioned(volume) || spec.persistentVolumeReclaimPolicy !== 'Delete') return;
    if (status?.phase !== 'Released' && status?.phase !== 'Failed') return;
    await this.props.storage.remove(metadata.name);
    try {
      await this.props.client.request('DELETE', `${VOLUMES}/${metadata.name}`);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function isOfOneNode(mode: string): boolean {
  return mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod';
}

function isOurs(storageClassName: string | undefined): boolean {
  return STORAGE_CLASSES.some((name) => name === storageClassName);
}

function isProvisioned({ metadata }: Volume): boolean {
  return metadata.annotations?.[PROVISIONED_BY] === PROVISIONER;
}

function storageClass(name: string, isDefault: boolean): unknown {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name,
      annotations: { 'storageclass.kubernetes.io/is-default-class': String(isDefault) },
    },
    provisioner: PROVISIONER,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  };
}

function volumeFor({ metadata, spec }: PersistentVolumeClaim, name: string, path: string): unknown {
  const { namespace, name: claimName, uid } = metadata;
  const onNode = { key: 'kubernetes.io/hostname', operator: 'In', values: [NODE_NAME] };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, annotations: { [PROVISIONED_BY]: PROVISIONER } },
    spec: {
      capacity: { storage: spec.resources.requests.storage },
      accessModes: spec.accessModes,
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: spec.storageClassName,
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name: claimName,
        uid,
      },
      // Not `hostPath`: the kubelet gives the files of that to no group.
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onNode] }] } },
    },
  };
}
