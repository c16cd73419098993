import type { Api } from './api.js';
import type { OnProgress } from './progress.js';

export interface ControlPlaneOptions {
  /** Simulated nodes; 0 starts no kwok, and pods stay pending. Default: 2. */
  readonly kwokNodes?: number;
  /** Without it, no Deployment makes pods and no namespace has a service account. Default: true. */
  readonly controllerManager?: boolean;
  /** Default: true. */
  readonly scheduler?: boolean;
  /** Folder of data, keys and logs; one used before is continued. Default: a temporary one. */
  readonly dataDir?: string;
  /** Whether the folder stays after the end. Default: true when `dataDir` is given. */
  readonly keep?: boolean;
  /** Volumes of the default StorageClass `standard`. Default: 50. */
  readonly persistentVolumes?: number;
  /** Whether the API server logs every request's metadata. Default: false. */
  readonly audit?: boolean;
  /**
   * Called when the API server is ready and before the controllers start: kinds that are made here are
   * known to the garbage collector at once, not after its next look in 30 seconds.
   */
  readonly prepare?: (api: Api) => Promise<void>;
  /** Told what is being done. Default: silent. */
  readonly onProgress?: OnProgress | undefined;
}
