/**
 * Import directions: no file imports a folder above its own, and no imports form a cycle, those of types included.
 * `constructs/` is pure: what it may import computes only.
 */

/** Folders from the bottom to the top: each may import those before it. */
const LAYERS = [
  'imports/',
  // Types and functions that all kinds share.
  'constructs/kit/json/',
  'constructs/kit/[^/]+[.]ts$',
  'constructs/kit/schema/',
  // What users write.
  'constructs/api/',
  'constructs/integrations/[^/]+/',
  'constructs/integrations/[^/]+[.]ts$',
  // What Frappe pods of several kinds share.
  'constructs/frappe/',
  'constructs/batches/',
  'constructs/configuration/',
  'constructs/kinds/',
  'constructs/registry[.]ts$',
  'constructs/(project|install/)',
  'constructs/monitoring/',
  'constructs/preview/',
  'constructs/(index|api[.]generated)[.]ts$',
  'runner/kit/',
  'runner/(api|config)/',
  'runner/telemetry/',
  'runner/(leader|cache|http|queue)/',
  'runner/plan/',
  'runner/health/',
  'runner/apply/',
  'runner/reconcile/',
  'runner/controller/',
  'runner/batch/',
  'runner/(admission|monitoring)/',
  'runner/[^/]+[.]ts$',
  'cli/',
  'testbed/',
  'tools/',
  'test/',
].map((layer) => `^${layer}`);

const upwards = LAYERS.slice(0, -1).map((from, index) => ({
  name: `no import of a folder above: ${from.slice(1)}`,
  severity: 'error',
  from: { path: from },
  to: { path: LAYERS.slice(index + 1) },
}));

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    ...upwards,
    {
      name: 'each folder has a layer',
      severity: 'error',
      from: { path: '^(constructs|runner)/', pathNot: LAYERS },
      to: {},
    },
    {
      name: 'a kind knows no other kind',
      severity: 'error',
      from: { path: '^constructs/kinds/([^/]+)/' },
      to: { path: '^constructs/kinds/', pathNot: '^constructs/kinds/$1/' },
    },
    {
      name: 'an integration knows no other one',
      severity: 'error',
      from: { path: '^constructs/integrations/([^/]+)/' },
      to: { path: '^constructs/integrations/', pathNot: '^constructs/integrations/$1/' },
    },
    {
      name: 'the runner knows kinds by the registry and the kit only',
      severity: 'error',
      from: { path: '^runner/' },
      to: { path: '^constructs/', pathNot: '^constructs/(kit/|(registry|index)[.]ts$)' },
    },
    {
      name: 'constructs/ does no I/O: of the built-in modules it uses node:crypto, for hashes',
      severity: 'error',
      from: { path: '^constructs/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?crypto$' },
    },
    {
      name: 'constructs/ uses packages that compute only',
      severity: 'error',
      from: { path: '^constructs/' },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'npm-no-pkg', 'npm-unknown'],
        pathNot: 'node_modules/(cdk8s|cdk8s-plus-28|constructs|@marcbachmann/cel-js)/',
      },
    },
  ],
  options: {
    // 'constructs' is also the name of a package.
    doNotFollow: { path: ['node_modules', '^imports'] },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { extensions: ['.ts', '.js'] },
  },
};
