/**
 * The nginx configuration of a bench: the site of each Host, and the Service of each site.
 *
 * `nginx.conf` depends on the bench only; `sites.conf` holds the maps that change with its sites. Maps
 * that are too large for one ConfigMap are in parts, each of which has the same sites at any time.
 * Backends are reached through variables, so nginx resolves a name at the first request and not at
 * start: where a Service does not exist, only its own site answers 502. `nginx.sh` adds
 * `resolver.conf` and the addresses of socketio's pods, and reloads.
 */

import { NGINX_PORT, SOCKETIO_ORIGIN_PORT } from '../kit/constants.generated.js';
import { hashOf } from '../kit/hash.js';
import { SITES_DIR } from '../frappe/pod.js';

/** One site as nginx sees it. */
export interface NginxSite {
  /** Name of the site's directory; also a host name that leads to it. */
  readonly siteName: string;
  /** Further host names that lead to it. */
  readonly domains: readonly string[];
  /** `host:port` of the site's own gunicorn Service; default: the bench's. */
  readonly backend?: string;
}

/** A header, whose value may have every printable character of ASCII. */
export interface Header {
  readonly name: string;
  readonly value: string;
}

export interface NginxConfigInput {
  /**
   * Fully qualified `host:port` of the bench's gunicorn; without it only sites with their own
   * backend are served.
   */
  readonly benchBackend?: string;
  /** Fully qualified `host:port` of socketio; without it `/socket.io` answers 502. */
  readonly socketio?: string;
  /**
   * Fully qualified `host:port` whose addresses are the pods of socketio: each site has one of them.
   * Without it all sites share `socketio`.
   */
  readonly socketioPods?: string;
  readonly sites: readonly NginxSite[];
  /** Addresses or CIDRs of proxies that are trusted to name the client; default: none. */
  readonly realIpFrom?: readonly string[];
  /** Largest request body, in nginx's notation: `50m`. */
  readonly clientMaxBodySize: string;
  /** Seconds the framework may take for an answer. */
  readonly proxyReadTimeout: number;
  /** Seconds the framework may take to read a request; default: as long. */
  readonly proxySendTimeout?: number;
  /** Seconds for a connection; default: CONNECT_SECONDS. */
  readonly proxyConnectTimeout?: number;
  /** Headers of every answer, in place of those of the framework and of the default ones. */
  readonly responseHeaders?: readonly Header[];
  /** Header in which a trusted proxy names the client; default: `X-Forwarded-For`. */
  readonly realIpHeader?: string;
  /** Port nginx listens on; default NGINX_PORT. */
  readonly port?: number;
  /** The sites volume; default: where the image has it. */
  readonly sitesDirectory?: string;
}

export type ConfigFiles = Readonly<Record<string, string>>;

export interface NginxConfig {
  readonly files: ConfigFiles;
  /** The parts of the maps, each for a ConfigMap of its own; none where `files` has the maps. */
  readonly parts: readonly ConfigFiles[];
}

/**
 * Renders the configuration. Equal input in any order gives equal text; anything that is no host name
 * throws.
 */
export function renderNginxConfig(input: NginxConfigInput): NginxConfig {
  const maps = siteMaps(input);
  const whole = renderSites(input, maps);
  const count = numberOfParts(Buffer.byteLength(whole));
  return {
    files: {
      'nginx.conf': renderMain(input),
      'sites.conf': count === 0 ? whole : renderSites(input),
      ...socketioPods(input),
    },
    parts: renderParts(maps, count),
  };
}

/** Bytes of the maps that one ConfigMap takes, of the 1 MiB that the API server allows. */
const MOST_BYTES = 600_000;
const FEWEST_PARTS = 16;

/**
 * Another number replaces the pods, so it is a power of four. Parts differ in size, since a site stays
 * in its part when others come and go.
 */
function numberOfParts(bytes: number): number {
  if (bytes <= MOST_BYTES) return 0;
  let count = FEWEST_PARTS;
  while (bytes / count > MOST_BYTES / 2) count *= 4;
  return count;
}

const LABEL = '[a-z0-9]([a-z0-9-]*[a-z0-9])?';
const HOST = new RegExp(`^(?=.{1,253}$)${LABEL}(\\.${LABEL})*$`);
const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f:]*:[0-9a-f:.]*)(\/\d{1,3})?$/i;

function hostName(value: string): string {
  if (!HOST.test(value)) throw new Error(`not a host name: ${JSON.stringify(value)}`);
  return value;
}

function backend(value: string): string {
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(value) ?? [];
  if (Number(port) < 1 || Number(port) > 65535) {
    throw new Error(`not a host and port: ${JSON.stringify(value)}`);
  }
  return `${hostName(host)}:${port}`;
}

function address(value: string): string {
  if (!ADDRESS.test(value)) throw new Error(`not an address or CIDR: ${JSON.stringify(value)}`);
  return value;
}

/** A map's own words would be read as such: nginx takes them as hosts only behind a backslash. */
function mapKey(host: string): string {
  return ['default', 'hostnames', 'include', 'volatile'].includes(host) ? `\\${host}` : host;
}

/** The lines of the maps, by the site that they are about. */
interface SiteMaps {
  readonly sites: ReadonlyMap<string, readonly string[]>;
  readonly backends: ReadonlyMap<string, readonly string[]>;
}

function siteMaps({ sites: all }: NginxConfigInput): SiteMaps {
  const siteOf = new Map<string, string>();
  const sites = new Map<string, string[]>();
  const backends = new Map<string, string[]>();
  for (const { siteName, domains, backend: own } of all) {
    const lines = sites.get(siteName) ?? [];
    sites.set(siteName, lines);
    for (const host of [siteName, ...domains]) {
      const known = siteOf.get(hostName(host));
      if (known !== undefined && known !== siteName) {
        throw new Error(`${host} leads to both ${known} and ${siteName}`);
      }
      if (known === undefined) lines.push(mapLine(host, siteName));
      siteOf.set(host, siteName);
    }
    if (own !== undefined) backends.set(siteName, [mapLine(siteName, backend(own))]);
  }
  return { sites, backends };
}

function mapLine(key: string, value: string): string {
  return `  ${mapKey(key)} ${value};`;
}

/** @param maps without them, the maps include the files of the parts */
function renderSites(input: NginxConfigInput, maps?: SiteMaps): string {
  const { sites, backends } = maps ?? {};
  const benchBackend = optionalBackend(input.benchBackend);
  return [
    '# Generated by app-operator. Host → site; any other host gets 404.',
    ...renderMap('$host $frappe_site', '""', sites ? sorted(sites) : ['  include hosts-*.conf;']),
    '# Site → its own gunicorn; the default is gunicorn of the bench.',
    ...renderMap(
      '$frappe_site $frappe_backend',
      benchBackend,
      backends ? sorted(backends) : ['  include backends-*.conf;'],
    ),
    '',
  ].join('\n');
}

function renderParts({ sites, backends }: SiteMaps, count: number): readonly ConfigFiles[] {
  const hosts = inParts(sites, count);
  return inParts(backends, count).map((lines, part) => ({
    [`hosts-${part}.conf`]: hosts[part] ?? '',
    [`backends-${part}.conf`]: lines,
  }));
}

function inParts(all: SiteMaps['sites'], count: number): readonly string[] {
  const parts = Array.from({ length: count }, () => new Map<string, readonly string[]>());
  for (const [site, lines] of all) parts[partOf(site, count)]?.set(site, lines);
  return parts.map((lines) =>
    sorted(lines)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

function partOf(site: string, count: number): number {
  return Number.parseInt(hashOf(site).slice(0, 8), 16) % count;
}

function sorted(lines: ReadonlyMap<string, readonly string[]>): readonly string[] {
  return [...lines.values()].flat().sort();
}

function renderMap(variables: string, otherwise: string, lines: readonly string[]): string[] {
  return [`map ${variables} {`, `  default ${otherwise};`, ...lines, '}'];
}

function optionalBackend(value: string | undefined): string {
  return value === undefined ? '""' : backend(value);
}

function renderMain(input: NginxConfigInput): string {
  return `${renderHttp(input)}${renderMaps(input)}${renderServer(input)}}\n`;
}

/** What nginx.sh resolves: nginx resolves the servers of an upstream at its start only, before 1.27.3. */
function socketioPods({ socketioPods: pods }: NginxConfigInput): ConfigFiles {
  return pods === undefined ? {} : { 'socketio-pods': `${backend(pods).replace(':', ' ')}\n` };
}

/** Processes and logs, and the head of the section `http`. */
function renderHttp(input: NginxConfigInput): string {
  return `# Generated by app-operator. Relative paths are below RUN_DIR of nginx.sh.
worker_processes 2;
worker_rlimit_nofile 16384;
# After a reload, the previous workers keep their websockets for this time.
worker_shutdown_timeout 300s;
pid nginx.pid;
error_log stderr warn;

events {
  worker_connections 8192;
}

http {
${MIME_TYPES}
  default_type application/octet-stream;
  log_format site '$remote_addr - "$request" $status $body_bytes_sent $request_time '
                  'host=$host site=$frappe_site upstream=$upstream_addr "$http_user_agent"';
  access_log /dev/stdout site;
  server_tokens off;
  sendfile on;
  tcp_nopush on;
  keepalive_timeout 65s;
  large_client_header_buffers 4 32k;
  client_max_body_size ${bodySize(input)};

  client_body_temp_path client-body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;

  gzip on;
  gzip_vary on;
  gzip_proxied any;
  gzip_min_length 256;
  gzip_types text/plain text/css text/xml application/javascript application/json application/xml
             application/manifest+json application/rss+xml image/svg+xml font/ttf font/otf;

`;
}

/** Maps, and how requests are proxied. */
function renderMaps(input: NginxConfigInput): string {
  return `  map_hash_bucket_size 512;
  map_hash_max_size 262144;
  variables_hash_max_size 2048;
  resolver_timeout ${RESOLVER_TIMEOUT};
  include resolver.conf;
  include sites.conf;
${dollar(input)}
  # The scheme from the proxy in front of nginx, if it is valid.
  map $http_x_forwarded_proto $client_scheme {
    default $scheme;
    http http;
    https https;
  }
  map $http_upgrade $connection_upgrade {
    default upgrade;
    '' '';
  }
${AGAIN}
  # Requests of the kubelet's probes and of socketio are not logged: the latter have the id of a session in their URL.
  map "$http_host $http_user_agent" $is_visitor {
    default 1;
    "~^[^ ]* kube-probe/" 0;
    "~^[^ ]*:${SOCKETIO_ORIGIN_PORT} " 0;
  }
${trustedProxies(input)}  real_ip_header ${headerName(input.realIpHeader ?? 'X-Forwarded-For')};
  real_ip_recursive on;

  proxy_http_version 1.1;
  proxy_buffer_size 128k;
  proxy_buffers 4 256k;
  proxy_busy_buffers_size 256k;
  proxy_connect_timeout ${seconds(input.proxyConnectTimeout ?? CONNECT_SECONDS)};
  proxy_read_timeout ${seconds(input.proxyReadTimeout)};
  proxy_send_timeout ${seconds(input.proxySendTimeout ?? input.proxyReadTimeout)};
  proxy_redirect off;
${hiddenHeaders(input)}${socketioUpstream(input)}
`;
}

/**
 * The realtime server keeps a session of long polling, and who views a document, in its process. So all
 * replicas of nginx give a site the same pod, and the next one by the same order where it is down.
 */
function socketioUpstream(input: NginxConfigInput): string {
  if (input.socketioPods === undefined) return '';
  return `
  upstream ${SOCKETIO_PODS} {
    zone ${SOCKETIO_PODS} 128k;
    hash $frappe_site consistent;
    # Without a pod, the Service is tried.
    server 127.0.0.1:9 down;
    include socketio-pods*.conf;
  }
`;
}

function renderServer(input: NginxConfigInput): string {
  const port = String(input.port ?? NGINX_PORT);
  return `  server {
    listen ${port} default_server;
    listen [::]:${port} default_server;
    access_log /dev/stdout site if=$is_visitor;
    root ${sitesDirectory(input)};
    absolute_redirect off;
${securityHeaders('    ', input)}
    set $socketio_backend ${optionalBackend(input.socketio)};

${PROBES_AND_ASSETS}${privateFilesAndSocketio(input)}${publicFiles(input)}${WEB_LOCATIONS}  }
`;
}

function bodySize({ clientMaxBodySize }: NginxConfigInput): string {
  if (/^\d+[kmg]?$/i.test(clientMaxBodySize)) return clientMaxBodySize;
  throw new Error(`not a size: ${JSON.stringify(clientMaxBodySize)}`);
}

function seconds(value: number): string {
  if (Number.isInteger(value) && value >= 1) return `${value}s`;
  throw new Error(`not a number of seconds: ${String(value)}`);
}

function headerName(value: string): string {
  if (/^[A-Za-z][A-Za-z0-9-]*$/.test(value)) return value;
  throw new Error(`not a name of a header: ${JSON.stringify(value)}`);
}

/**
 * A value as nginx reads it in double quotes. It would take a dollar for the start of a variable, and
 * knows no way to write one but a variable that holds it.
 */
function headerValue(value: string): string {
  if (!/^[ -~]+$/.test(value)) throw new Error(`not a value of a header: ${JSON.stringify(value)}`);
  return `"${value.replace(/["\\]/g, '\\$&').replaceAll('$', '${dollar}')}"`;
}

function dollar({ responseHeaders = [] }: NginxConfigInput): string {
  if (!responseHeaders.some(({ value }) => value.includes('$'))) return '';
  return `  geo $dollar {
    default "$";
  }
`;
}

/** The framework's own headers of these names: a second one would contradict the first. */
function hiddenHeaders({ responseHeaders = [] }: NginxConfigInput): string {
  return responseHeaders.map(({ name }) => `  proxy_hide_header ${headerName(name)};\n`).join('');
}

function sitesDirectory({ sitesDirectory: root = SITES_DIR }: NginxConfigInput): string {
  if (/^\/[\w./-]+$/.test(root)) return root;
  throw new Error(`not a directory: ${JSON.stringify(root)}`);
}

/** The proxies that are trusted to name the client. */
function trustedProxies({ realIpFrom = [] }: NginxConfigInput): string {
  return realIpFrom
    .map((from) => `  set_real_ip_from ${address(from)};\n`)
    .sort()
    .join('');
}

/**
 * A second try, on a new connection: of any request of which nothing was sent, and of a GET or HEAD
 * whose connection was closed without an answer (RFC 9110, 9.2.2). A request that the backend may
 * process is never repeated.
 *
 * Unanswered connections are common: while a Service without endpoints gets one again, kube-proxy's
 * iptables mode lets a packet through untranslated, and connection tracking then does so with every
 * further one from the same port, for two minutes. `proxy_next_upstream` does not help: a Service
 * is one address. Connections that are kept would: but gunicorn closes them when it ends or
 * restarts a worker, and what nginx has just sent on one of them is lost, with any method.
 */
const AGAIN = `  # The status of the first try if the request must not be repeated; else empty. A try has a list of
  # values where nginx has tried several pods.
  map "$request_method $upstream_status $upstream_bytes_sent $upstream_bytes_received" $first_error {
    default 502;
    "~^[A-Z]+ 50[24](, 50[24])* 0(, 0)* " "";
    "~^(GET|HEAD) 502(, 502)* [0-9, ]+ 0(, 0)*$" "";
    "~ 504 " 504;
  }`;

/**
 * nginx repeats an unanswered DNS query after some 5 s, which cannot be set: with a timeout of 5 s,
 * one lost datagram would fail all requests that wait for it. This allows two queries, and is less
 * than nginx.sh's shutdown time.
 *
 * No second try follows: it would wait as long again for a name that does not exist.
 */
const RESOLVER_TIMEOUT = '12s';

/**
 * Two packets, sent at 0 and 1 s: a lost one costs a second, an unanswered connection a second try.
 */
const CONNECT_SECONDS = 2;

const TRY_AGAIN = `      if ($first_error = 502) {
        return 502;
      }
      if ($first_error = 504) {
        return 504;
      }`;

const WEBSERVER = `      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $client_scheme;
      proxy_set_header X-Frappe-Site-Name $frappe_site;
      proxy_set_header Host $host;
      proxy_set_header X-Use-X-Accel-Redirect True;
      proxy_pass http://$frappe_backend;`;

const ASSETS = `      proxy_set_header X-Frappe-Site-Name $frappe_site;
      proxy_set_header Host $host;
      proxy_pass http://$frappe_backend;`;

/** Name of the upstream of socketio's pods. */
const SOCKETIO_PODS = 'socketio-pods';

const SOCKETIO_HEADERS = `      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Frappe-Site-Name $frappe_site;
      proxy_set_header Host $host;
      # socketio compares its host with Host. Its requests to this port come to this nginx.
      proxy_set_header Origin http://$host:${SOCKETIO_ORIGIN_PORT};
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $client_scheme;`;

/**
 * Without HSTS: whether a domain may only ever be reached by TLS is its owner's choice, made at the
 * ingress.
 */
function securityHeaders(indent: string, { responseHeaders = [] }: NginxConfigInput): string {
  const given = new Set(responseHeaders.map(({ name }) => name.toLowerCase()));
  return [
    ...Object.entries(SECURITY_HEADERS)
      .filter(([name]) => !given.has(name.toLowerCase()))
      .map(([name, value]) => `add_header ${name} ${value};`),
    ...responseHeaders.map(
      ({ name, value }) => `add_header ${headerName(name)} ${headerValue(value)} always;`,
    ),
  ]
    .map((line) => indent + line)
    .join('\n');
}

const SECURITY_HEADERS = {
  'X-Frame-Options': 'SAMEORIGIN',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': '"same-origin, strict-origin-when-cross-origin"',
} as const;

/**
 * The types that the framework's assets and usual uploads have: the image's own table lies in
 * /etc/nginx.
 */
const MIME_TYPES = `  types {
    text/html html htm shtml;
    text/css css;
    text/plain txt;
    text/csv csv;
    text/xml xml;
    application/javascript js mjs;
    application/json json map;
    application/manifest+json webmanifest;
    application/pdf pdf;
    application/zip zip;
    application/gzip gz tgz;
    application/x-tar tar;
    application/wasm wasm;
    application/rss+xml rss;
    application/msword doc;
    application/vnd.ms-excel xls;
    application/vnd.openxmlformats-officedocument.wordprocessingml.document docx;
    application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx;
    application/vnd.openxmlformats-officedocument.presentationml.presentation pptx;
    image/gif gif;
    image/jpeg jpeg jpg;
    image/png png;
    image/webp webp;
    image/avif avif;
    image/svg+xml svg svgz;
    image/x-icon ico;
    image/bmp bmp;
    image/tiff tif tiff;
    font/woff woff;
    font/woff2 woff2;
    font/ttf ttf;
    font/otf otf;
    application/vnd.ms-fontobject eot;
    audio/mpeg mp3;
    audio/ogg ogg;
    video/mp4 mp4;
    video/webm webm;
  }`;

const PROBES_AND_ASSETS = `    # For probes, with any Host: nginx serves requests, and the link to the assets resolves.
    location = /healthz {
      access_log off;
      default_type text/plain;
      return 200 "ok\\n";
    }
    location = /assets/assets.json {
      try_files $uri =404;
    }

    # The slash excludes a site whose folder name begins with assets.
    location /assets/ {
      if ($frappe_site = "") {
        return 404;
      }
      try_files $uri @assets;
    }

    # During an upgrade, a site can run another image than nginx. Its own processes have its bundles.
    location @assets {
      if ($frappe_backend = "") {
        return 404;
      }
      error_page 502 504 = @assets_again;
${ASSETS}
    }
    location @assets_again {
${TRY_AGAIN}
${ASSETS}
    }

`;

function privateFilesAndSocketio({ socketioPods: pods }: NginxConfigInput): string {
  return `    # Private files and backups, for X-Accel-Redirect of the framework only.
    location ~ ^/protected/(.*) {
      internal;
      try_files /$frappe_site/$1 =404;
    }

    location /socket.io {
      if ($frappe_site = "") {
        return 404;
      }
      if ($socketio_backend = "") {
        return 502;
      }
      error_page 502 504 = @socketio_again;
${SOCKETIO_HEADERS}
      proxy_pass http://${pods === undefined ? '$socketio_backend' : SOCKETIO_PODS};
    }
    location @socketio_again {
${TRY_AGAIN}
${SOCKETIO_HEADERS}
      proxy_pass http://$socketio_backend;
    }

`;
}

function publicFiles(input: NginxConfigInput): string {
  return `    location / {
      if ($frappe_site = "") {
        return 404;
      }
      # Browsers read a backslash as a slash, and a path that begins with two slashes as a host.
      rewrite ^(/[^\\x5c].*)/$ $1 permanent;
      rewrite ^(/[^\\x5c].*)/index\\.html$ $1 permanent;
      rewrite ^(/[^\\x5c].*)\\.html$ $1 permanent;
      try_files /$frappe_site/public/$uri @webserver;
    }

    # Browsers download files that they would otherwise run as a page of this site.
    location ~* ^/files/.*\\.(htm|html|xhtml|shtml|svg|svgz|rss|xml)$ {
      if ($frappe_site = "") {
        return 404;
      }
${securityHeaders('      ', input)}
      add_header Content-Disposition attachment;
      try_files /$frappe_site/public/$uri @webserver;
    }

`;
}

const WEB_LOCATIONS = `    location @webserver {
      if ($frappe_backend = "") {
        return 502;
      }
      error_page 502 504 = @webserver_again;
${WEBSERVER}
    }
    location @webserver_again {
${TRY_AGAIN}
${WEBSERVER}
    }
`;
