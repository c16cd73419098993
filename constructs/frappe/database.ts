import type { DatabaseTls } from '../kit/api.js';

/** A key of a Secret. */
export interface SecretKey {
  readonly secret: string;
  readonly key: string;
}

/** A database server and the login of its administrator. */
export interface DatabaseServer {
  readonly provider: 'mariadb' | 'postgres';
  readonly host: string;
  readonly port: number;
  /** Without it, the operator creates no databases on this server. */
  readonly root?: { readonly user: string | SecretKey; readonly password: SecretKey };
  /** Without it, connections are in clear text. */
  readonly tls?: DatabaseTlsPlan;
}

/** How connections to a database server are encrypted. */
export interface DatabaseTlsPlan {
  readonly mode: DatabaseTls['mode'];
  /** The CA of the server's certificate; undefined where it is not checked. */
  readonly ca?: SecretKey;
  /** Secret with the certificate that clients present. */
  readonly client?: string;
}
