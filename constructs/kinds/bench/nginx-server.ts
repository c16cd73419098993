import { NGINX_PORT, SOCKETIO_ORIGIN_PORT } from '../../kit/constants.generated.js';
import {
  type NginxConfigInput,
  optionalBackend,
  headerName,
  headerValue,
  sitesDirectory,
} from './nginx-input.js';

export function renderServer(input: NginxConfigInput): string {
  const port = String(input.port ?? NGINX_PORT);
  return `  server {
    listen ${port} default_server;
    listen [::]:${port} default_server;
    root ${sitesDirectory(input)};
    absolute_redirect off;
${headers('    ', input)}
    set $socketio_backend ${optionalBackend(input.socketio)};

${PROBES_AND_ASSETS}${privateFilesAndSocketio(input)}${publicFiles(input)}${WEB_LOCATIONS}  }
`;
}

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
export const SOCKETIO_PODS = 'socketio-pods';

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
function headers(indent: string, { responseHeaders = [] }: NginxConfigInput): string {
  const given = new Set(responseHeaders.map(({ name }) => name.toLowerCase()));
  return [
    ...Object.entries(HEADERS)
      .filter(([name]) => !given.has(name.toLowerCase()))
      .map(([name, value]) => `add_header ${name} ${value};`),
    ...responseHeaders.map(
      ({ name, value }) => `add_header ${headerName(name)} ${headerValue(value)} always;`,
    ),
  ]
    .map((line) => indent + line)
    .join('\n');
}

const HEADERS = {
  'X-Frame-Options': 'SAMEORIGIN',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': '"same-origin, strict-origin-when-cross-origin"',
  'Cache-Control': '$asset_cache',
} as const;

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
${headers('      ', input)}
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
