/** A secret in the form in which objects, events and logs have it. */
export interface Planted {
  readonly what: string;
  /** What must not be found. */
  readonly secret: string;
  readonly text: string;
}

/** Secrets that are recognized by the name before them. None is the value of a Secret. */
export const PLANTED: readonly Planted[] = [
  { what: 'a variable', secret: 'plantedvariable', text: 'MYSQL_PWD=plantedvariable mysql -h db' },
  { what: 'a key of YAML', secret: 'plantedyaml', text: 'db_password: plantedyaml, host: db' },
  { what: 'a key of JSON', secret: 'plantedjson', text: '{"api_key": "plantedjson", "n": 1}' },
  { what: 'a key of Python', secret: 'plantedapi', text: "{'api_key': 'plantedapi'}" },
  { what: 'quoted JSON', secret: 'plantedquoted', text: '{\\"token\\":\\"plantedquoted\\"}' },
  { what: 'a flag', secret: 'plantedflag', text: 'new-site --admin-password=plantedflag x' },
  {
    what: 'the URL of a database',
    secret: 'plantedurl',
    text: 'mysql://root:plantedurl@db:3306/shop',
  },
  {
    what: 'the URL of Redis, without a user',
    secret: 'plantedredis',
    text: 'redis://:plantedredis@cache:6379/0',
  },
  { what: 'a bearer token', secret: 'plantedbearer', text: 'Authorization: Bearer plantedbearer' },
];

/** Text that must stay readable. */
export const HARMLESS: readonly string[] = [
  'uid 6f1c1a52-1d3c-4b69-9a7e-0d5b1a3f9c11 of Deployment/shop-gunicorn',
  'image registry.example.com/frappe/erpnext@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  'commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12',
  'hash 5d41402abc4b2a76b9719d911017c592, resourceVersion 184467',
  'pod shop-gunicorn-7d9f8b6c5d-x2k4j, replica set shop-gunicorn-7d9f8b6c5d',
  'secret "shop-db" not found',
  'Secret/shop-admin-password: created',
  'passwordSecretRef: shop-admin, secretName: shop-tls',
  'PWD=/home/frappe/frappe-bench OLDPWD=/',
  'bench --site shop.example.com set-config maintenance_mode 1',
  'the password is wrong; the password of the user was changed',
  'sites/assets/frappe/dist/js/desk.bundle.ABCDEFGH.js',
  'https://shop.example.com:8443/api/method/ping?cmd=login',
  'GET /api/v1/namespaces/shop/secrets?labelSelector=app%3Dshop 200',
  '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
  'app-operator.io/hash: 3b5d5c3712955042, observedGeneration: 17',
  '2026-11-23T11:25:33.123Z INFO reconciler Reconciled {"applied":3}',
];
