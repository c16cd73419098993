/**
 * Writes the files that are derived from the kinds' `api.ts` files: schemas, the modules of jobs/, CRDs,
 * the install manifest, imports; and the monitoring files.
 *
 *     node dist/lib/tools/generate/main.js            write what differs
 *     node dist/lib/tools/generate/main.js --check    fail where something differs
 *
 * With `--third-party` it writes the imports of third-party kinds instead; that needs Go.
 */
import '../../runner/kit/require-node.js';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { crdOf } from '../../constructs/install/crd.js';
import { crdFiles, definitions } from './crds.js';
import { gitopsFiles } from './gitops.js';
import { importFiles } from './imports.js';
import { installFile } from './install.js';
import { apiFile } from './api.js';
import { kindFolders } from './kinds.js';
import { monitoringFiles } from './monitoring.js';
import { differences, leftovers, remove, write, type Files } from './output.js';
import { kindSchemas, schemaFiles } from './schemas.js';
import { jobModules } from '../jobs/build.js';
import { thirdPartyFiles } from './third-party.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

async function generated(): Promise<Files> {
  const folders = kindFolders(ROOT);
  const schemas = kindSchemas(ROOT, folders);
  const sources = new Map([...(await schemaFiles(schemas)), ...jobModules(ROOT)]);
  const kinds = definitions(folders, schemas);
  const imports = await importFiles(
    kinds.map((kind) => crdOf(kind)),
    'dist/crds',
  );
  return new Map([
    ...apiFile(folders),
    ...sources,
    ...crdFiles(kinds),
    ...installFile(ROOT, kinds),
    ...monitoringFiles(),
    ...gitopsFiles(kinds),
    ...imports,
  ]);
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean', default: false },
      'third-party': { type: 'boolean', default: false },
    },
  });
  if (values['third-party']) {
    report('wrote', write(ROOT, await thirdPartyFiles(ROOT)));
    return 0;
  }
  const files = await generated();
  const extra = leftovers(ROOT, files);
  if (values.check) return check([...differences(ROOT, files), ...extra]);
  report('wrote', write(ROOT, files));
  remove(ROOT, extra);
  report('removed', extra);
  return 0;
}

function check(stale: readonly string[]): number {
  if (stale.length === 0) return 0;
  console.error(`out of date; run \`npm run generate\`:\n  ${stale.join('\n  ')}`);
  return 1;
}

function report(what: string, paths: readonly string[]): void {
  for (const path of paths) console.log(`${what} ${path}`);
}

process.exitCode = await main();
