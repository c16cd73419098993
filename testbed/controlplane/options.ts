import type { AdminClient } from './admin-client.js';
import type { OnProgress } from './progress.js';

/** A separate network, in which a node runs real pods beside the control plane. */
export interface Place {
  /** Name of the network namespace. */
  readonly namespace: string;
  /** Of the API server and of the node; reached from this machine too. */
  readonly address: string;
  /** CIDR of Services, such as `10.150.64.0/18`. */
  readonly serviceRange: string;
  /** Address of the Service `kubernetes`: the first of the range. */
  readonly serviceAddress: string;
  /** Makes the network; called when what takes it down is sure to run. */
  readonly setUp: () => Promise<void>;
  /** Node.js module and its arguments, run when all processes have ended, however they did. */
  readonly takeDown: readonly [module: string, ...args: string[]];
}

export interface ControlPlaneOptions {
  /** Simulated nodes; 0 starts no kwok, and pods stay pending. Default: 2. */
  readonly kwokNodes?: number;
  /** Without it, no Deployment makes pods and no namespace has a service account. Default: true. */
  readonly controllerManager?: boolean;
  /** Default: true. */
  readonly scheduler?: boolean;
  /** Whether to get kubectl too. Without it, `kubectl` is the one of the PATH. Default: true. */
  readonly kubectl?: boolean;
  /** Folder of data, keys and logs; one used before is continued. Default: a temporary one. */
  readonly dataDir?: string;
  /** Whether the folder stays after the end. Default: true when `dataDir` is given. */
  readonly keep?: boolean;
  /** Volumes of the default StorageClass `standard`. Default: 50. */
  readonly persistentVolumes?: number;
  /** Whether the API server logs every request's metadata. Default: false. */
  readonly audit?: boolean;
  /**
   * Called when the API server is ready and before the controllers start: the garbage collector
   * then knows the kinds that are created here at once. Later it discovers kinds every 30 seconds
   * only.
   */
  readonly prepare?: (api: AdminClient) => Promise<void>;
  /**
   * Default: 127.0.0.1, without a real node. With a place there are no simulated nodes and no
   * volumes.
   */
  readonly place?: Place;
  /**
   * Common name of the certificate by which the API server makes itself known to webhooks; the
   * control plane's authority signs it. Default: none, it is not known to them.
   */
  readonly webhookClient?: string;
  /** Called with the current step. Default: no calls. */
  readonly onProgress?: OnProgress | undefined;
}
