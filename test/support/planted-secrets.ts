/** A secret in the form in which objects, events and logs have it. */
export interface Planted {
  readonly what: string;
  /** What must not be found. */
  readonly secret: string;
  readonly text: string;
}

const hex = (length: number): string =>
  '0a1b2c3d4e5f67898765f4e3d2c1b0a9'.repeat(8).slice(0, length);
const mixed = (length: number): string =>
  'wJalrXUtnFEMI7K7MDENG3bPxRfiCYzEXAMPLEKEYq9Zt5'.repeat(4).slice(0, length);
/** Assembled here, so that no scanner of secrets reports this file. */
const join = (...parts: readonly string[]): string => parts.join('');

/** The 24 secrets of an attack on `report`. None is the value of a Secret. */
export const PLANTED: readonly Planted[] = [
  {
    what: 'a private key in PEM',
    secret: `MIIEvQIBADANBg${mixed(40)}`,
    text: join(
      '-----BEGIN RSA PRIV',
      'ATE KEY-----\n',
      `MIIEvQIBADANBg${mixed(40)}\n${mixed(46)}\n-----END RSA PRIV`,
      'ATE KEY-----',
    ),
  },
  {
    what: 'a private key in PEM, as JSON',
    secret: `b3BlbnNzaC1rZXk${hex(20)}`,
    text: join(
      '{"k":"-----BEGIN OPENSSH PRIV',
      `ATE KEY-----\\nb3BlbnNzaC1rZXk${hex(20)}\\nAAAA\\n-----END OPENSSH PRIV`,
      'ATE KEY-----\\n"}',
    ),
  },
  {
    what: 'a JWT without Bearer',
    secret: `eyJzdWIiOiJ4In0.${mixed(30)}`,
    text: `session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.${mixed(30)} expired`,
  },
  {
    what: 'an access key ID of Amazon',
    secret: 'AKIA2E0A8F3B244C9986',
    text: 'using AKIA2E0A8F3B244C9986 in eu-west-1',
  },
  {
    what: 'a secret access key of Amazon without a name',
    secret: mixed(40),
    text: `AKIA2E0A8F3B244C9987 ${mixed(40)}`,
  },
  {
    what: 'a key of Google',
    secret: `AIza${mixed(35)}`,
    text: `maps ${join('AI', 'za')}${mixed(35)}`,
  },
  {
    what: 'a token of GitHub',
    secret: `ghp_${mixed(36)}`,
    text: `cloning with ${join('gh', 'p_')}${mixed(36)}`,
  },
  { what: 'pwd=', secret: 'plantedlower', text: 'Server=db;Uid=root;pwd=plantedlower;Port=3306' },
  { what: 'Pwd=', secret: 'plantedupper', text: 'Server=db;Uid=root;Pwd=plantedupper;' },
  { what: 'mail_pw', secret: 'plantedmail', text: '{"mail_pw": "plantedmail", "mail_port": 587}' },
  { what: 'pin', secret: '470811', text: 'user=ann pin=470811 ok' },
  {
    what: 'set-config as one line',
    secret: 'plantedone',
    text: 'bench --site s set-config -g mailbox plantedone',
  },
  {
    what: 'set-config as items of JSON',
    secret: 'plantedtwo',
    text: '["bench","set-config","mail_login","plantedtwo"]',
  },
  {
    what: 'set-config as items of YAML',
    secret: 'plantedthree',
    text: '- set-config\n- -p\n- mail_login\n- plantedthree',
  },
  {
    what: 'a webhook of Slack',
    secret: 'T0PLANTED/B0PLANTED/XyZ',
    text: `posting to https://${join('hooks.sl', 'ack.com')}/services/T0PLANTED/B0PLANTED/XyZ`,
  },
  {
    what: 'a webhook of Discord',
    secret: 'plantedDiscord',
    text: 'https://discord.com/api/webhooks/123456789/plantedDiscord',
  },
  {
    what: 'a webhook of Teams',
    secret: 'plantedTeams',
    text: 'https://shop.webhook.office.com/webhookb2/plantedTeams@x/IncomingWebhook/y',
  },
  {
    what: 'a password in prose',
    secret: 'hunter2hunter2',
    text: 'login of root failed with password hunter2hunter2.',
  },
  {
    what: 'a password that prose states',
    secret: 'hunter3hunter3',
    text: 'the password is hunter3hunter3, change it',
  },
  { what: 'pw in prose', secret: 'hunter4hunter4', text: 'pw hunter4hunter4' },
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
  { what: 'an API key', secret: 'plantedapi', text: "{'api_key': 'plantedapi'}" },
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
