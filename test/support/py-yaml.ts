import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

import { required } from '../jobs/servers.js';

const PYTHON = `
import json, sys, yaml
print(json.dumps([list(yaml.safe_load_all(open(f, newline="", encoding="utf-8"))) for f in sys.argv[1:]]))
`;

/**
 * The documents of files by PyYAML, which reads YAML 1.1 for Ansible and the Python client of Kubernetes.
 * Only in a test with `needs('PyYAML')`.
 */
export function pyYaml(paths: readonly string[]): readonly (readonly unknown[])[] {
  const { status, stdout, stderr } = spawnSync(required('PyYAML'), ['-c', PYTHON, ...paths], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as readonly (readonly unknown[])[];
}
