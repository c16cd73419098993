import type { ClusterReader } from '../kit/kind.js';
import { SERVER_IMAGE } from '../kit/metadata-keys.js';
import type { KubeObject } from '../kit/object.js';
import type { DatabaseServer } from './database.js';
import { DATABASE_IMAGES, EARLIER_POSTGRES_IMAGE } from './default-images.js';

/**
 * The image of a managed server. Without one in the spec PostgreSQL keeps the image that is recorded
 * at its root Secret, which outlives the server together with the data: a newer default is for new
 * servers only. MariaDB takes its data along.
 */
export function databaseImage(
  { provider, root }: DatabaseServer,
  { mode, image }: { readonly mode: string; readonly image?: string | undefined },
  namespace: string,
  reader: ClusterReader,
): string {
  const isOwn = mode === 'managed' || mode === 'dedicated';
  if (image !== undefined || provider === 'mariadb' || !isOwn) {
    return image ?? DATABASE_IMAGES[provider];
  }
  const secret = root?.password.secret ?? '';
  return reader.get('Secret', namespace, secret, recordedImage) ?? DATABASE_IMAGES.postgres;
}

/** A preview assumes Secrets to exist, without a uid: there the server is new. */
function recordedImage({ metadata }: KubeObject): string | undefined {
  if (metadata.uid === undefined) return undefined;
  const annotations = Object.entries(metadata.annotations ?? {});
  const [, recorded] = annotations.find(([key]) => key.endsWith(SERVER_IMAGE)) ?? [];
  return recorded ?? EARLIER_POSTGRES_IMAGE;
}
