/** The address and the TLS material of an API server. */
export interface Endpoint {
  /** `https://host:port`, possibly with a path. */
  readonly server: string;
  readonly tls: TlsMaterial;
  /** `http://`, `https://` or `socks5://`. */
  readonly proxyUrl?: string;
}

/** Options of a TLS connection; certificates and keys are PEM. */
export interface TlsMaterial {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** False if the server is not verified. */
  readonly rejectUnauthorized?: boolean;
  readonly servername?: string;
}

export interface Access {
  /** The same object for as long as nothing in it changes, so that connections can be kept. */
  readonly endpoint: Endpoint;
  /** `authorization` and the like, for each request. */
  readonly headers: Readonly<Record<string, string>>;
}
