/** Types the commands of docs/first-site.md on a node whose storage refuses ReadWriteMany, as kind's does. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';

import { freePort } from '../../testbed/controlplane/ports.js';
import { OPERATOR_IMAGE } from '../../testbed/images/operator.js';
import { projectRoot } from '../../testbed/project-root.js';
import { conditionOf } from '../cluster/support/objects.js';
import { type Block, Reader, shellBlocks } from '../support/page-blocks.js';
import { EXAMPLES_VERSION } from './framework.js';
import { type E2e, e2e, skip } from './harness.js';

const NAMESPACE = 'shop';
const PAGE = 'first-site.md';
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';
/** A floating tag is always pulled, and the node has no registry. */
const PULL = '  image:\n    pullPolicy: IfNotPresent\n';

suite(`docs/${PAGE} on a real node`, { skip }, () => {
  let cluster: E2e;
  let reader: Reader;
  let port: number;

  before(async () => {
    cluster = await e2e();
    const { binaries, kubeconfig } = cluster.node.controlPlane;
    assert.ok(binaries.kubectl);
    reader = new Reader({ kubectl: binaries.kubectl, kubeconfig });
    port = await freePort();
    await setDefaultClass('one-node');
  });
  after(async () => {
    await setDefaultClass('standard');
    rmSync(reader.folder, { recursive: true });
  });

  async function setDefaultClass(name: string): Promise<void> {
    for (const each of ['standard', 'one-node'])
      await cluster.node.api.mergePatch(`/apis/storage.k8s.io/v1/storageclasses/${each}`, {
        metadata: { annotations: { [DEFAULT_CLASS]: String(each === name) } },
      });
  }

  /** A block as the page has it, with the image, port and pull policy of this machine. */
  function adapted({ heading, code }: Block): Block {
    const text = code
      .replaceAll('app-operator:0.2.0', OPERATOR_IMAGE)
      .replaceAll('version-15', EXAMPLES_VERSION)
      .replace(/^ {2}storage:$/m, `${PULL}  storage:`)
      .replaceAll('8080:8080', `${port}:8080`)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)
      // Other tests use the operator after this one; test/cluster/docs-first-site.test.ts removes it.
      .replace(/^kubectl delete -f install\.yaml.*\n/m, '');
    return { heading, code: text };
  }
  const under = (heading: string): readonly Block[] =>
    shellBlocks(PAGE).filter((block) => block.heading === heading);
  async function type(heading: string): Promise<string> {
    let output = '';
    for (const block of under(heading)) {
      if (!/^docker /m.test(block.code)) output += await reader.types(adapted(block));
    }
    assert.notEqual(output, '', heading);
    return output;
  }

  test('installs, and makes a namespace', async () => {
    assert.match(await type('2. Install the operator'), /successfully rolled out/);
    await type('3. Create a namespace');
  });

  test('says what to do where the storage has no ReadWriteMany', async () => {
    const [block] = under('4. Create the bench');
    assert.ok(block);
    const [bench = ''] = /^kubectl apply[^]*?^EOF$/m.exec(adapted(block).code) ?? [];
    const code = bench.replace('  storage:\n    accessMode: ReadWriteOnce\n', '');
    assert.notEqual(code, bench);
    await reader.types({ heading: 'a bench with the default access mode', code });
    const { message } = await cluster.until('the message', async () => {
      const ready = conditionOf(await cluster.the('AppBench', NAMESPACE, 'demo-bench'), 'Ready');
      return ready?.message.includes('is Pending: ') ? ready : undefined;
    });
    const text = readFileSync(path.join(projectRoot(), 'docs', PAGE), 'utf8');
    const shown = /^```text\n(waiting for .*?) …$/m
      .exec(text)?.[1]
      ?.replace('standard', 'one-node');
    assert.ok(shown);
    assert.ok(message.startsWith(shown), `${message}\n${shown}`);
    assert.match(message, /create the bench with spec\.storage\.accessMode: ReadWriteOnce/);
    const commands = [...text.matchAll(/^\$ (kubectl delete .*)$/gm)].map(([, line]) => line);
    assert.equal(commands.length, 2);
    await reader.types({ heading: 'The claim is Pending', code: `${commands.join('\n')}\n` });
  });

  test('makes a bench and a site, gives the password, and serves the site', async () => {
    assert.match(await type('4. Create the bench'), /appbench\S*\/demo-bench condition met/);
    assert.match(await type('5. Create the site'), /appsite\S*\/demo-site condition met/);
    const password = await type('6. Read the password');
    const [forward, ping] = under('7. Open the site in a browser').map(adapted);
    assert.ok(forward && ping);
    const child = spawn('bash', ['-c', `exec ${forward.code}`], {
      env: reader.env,
      stdio: 'ignore',
    });
    try {
      const answer = await cluster.until('the forwarded port to answer', () =>
        reader
          .types({ ...ping, code: ping.code.replace('curl', 'curl -s --max-time 10') })
          .catch(() => undefined),
      );
      assert.equal(answer, '{"message":"pong"}');
      const login = `curl -s -o /dev/null -w '%{http_code}' -H 'Host: demo.localhost' -d usr=Administrator --data-urlencode pwd=${password.trim()} http://127.0.0.1:${port}/api/method/login`;
      assert.equal(await reader.types({ heading: 'the password', code: login }), '200');
    } finally {
      child.kill();
    }
  });

  test('removes everything', async () => {
    assert.match(await type('8. Remove everything'), /^nothing is retained$/m);
    const names = 'kubectl get pv -o jsonpath="{.items[*].spec.claimRef.namespace}"';
    await cluster.until('the volumes to be deleted', async () => {
      const left = await reader.types({ heading: 'volumes', code: names });
      return !left.split(' ').includes(NAMESPACE);
    });
  });
});
