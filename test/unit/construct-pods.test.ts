import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  containersOf,
  corpus,
  podTemplates,
  type Container,
  type Graph,
  type PodTemplate,
} from '../golden/corpus.js';

/** Runs a check on every pod template of every golden scenario. */
function eachPod(check: (pod: PodTemplate, graph: Graph) => void): void {
  for (const graph of GRAPHS) {
    for (const pod of podTemplates(graph.objects)) {
      try {
        check(pod, graph);
      } catch (error) {
        throw new Error(`${graph.scenario}: ${pod.of}`, { cause: error });
      }
    }
  }
}

function eachContainer(
  check: (container: Container, pod: PodTemplate, graph: Graph) => void,
): void {
  eachPod((pod, graph) => {
    for (const container of containersOf(pod)) check(container, pod, graph);
  });
}

const GRAPHS = corpus();

suite('every pod passes Pod Security "restricted"', () => {
  test('it shares nothing with its node', () => {
    eachPod(({ spec }) => {
      for (const field of ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace']) {
        assert.equal(spec[field], undefined, field);
      }
    });
  });
  test('its volumes are of allowed types', () => {
    eachPod(({ spec }) => {
      for (const volume of spec.volumes) {
        const [type] = Object.keys(volume).filter((key) => key !== 'name');
        assert.match(type ?? '', /^(configMap|emptyDir|persistentVolumeClaim|projected|secret)$/);
      }
    });
  });
  test('it does not run as root, and under the default seccomp profile', () => {
    eachPod(({ spec: { securityContext } }) => {
      assert.equal(securityContext['runAsNonRoot'], true);
      assert.notEqual(securityContext['runAsUser'], 0);
      assert.deepEqual(securityContext['seccompProfile'], { type: 'RuntimeDefault' });
    });
  });
  test('its containers gain no rights, have no capability and a read-only root', () => {
    eachContainer(({ securityContext }) => {
      assert.equal(securityContext['allowPrivilegeEscalation'], false);
      assert.deepEqual(securityContext['capabilities'], { drop: ['ALL'] });
      assert.equal(securityContext['readOnlyRootFilesystem'], true);
      assert.equal(securityContext['privileged'], undefined);
      assert.notEqual(securityContext['runAsUser'], 0);
    });
  });
  test('it gets a token of the API only where the user names a service account', () => {
    eachPod(({ spec }) => {
      const mounted = spec['automountServiceAccountToken'];
      if (spec.serviceAccountName === undefined) assert.equal(mounted, false);
      assert.equal(spec['enableServiceLinks'], false, 'no addresses of other Services');
    });
  });
});

suite('every container', () => {
  test('mounts only volumes that its pod has, each at another path', () => {
    eachContainer(({ volumeMounts }, { spec }) => {
      const volumes = spec.volumes.map(({ name }) => name);
      for (const { name } of volumeMounts) assert.ok(volumes.includes(name), name);
      const paths = volumeMounts.map(({ mountPath }) => mountPath);
      assert.equal(new Set(paths).size, paths.length);
    });
  });
  test('together with the others uses every volume of its pod', () => {
    eachPod((pod) => {
      const used = containersOf(pod).flatMap(({ volumeMounts }) => volumeMounts.map((m) => m.name));
      for (const { name } of pod.spec.volumes) assert.ok(used.includes(name), name);
    });
  });
  test('has each environment variable once, with one value', () => {
    eachContainer(({ env = [] }) => {
      assert.equal(new Set(env.map(({ name }) => name)).size, env.length);
      for (const { name, value, valueFrom } of env) {
        assert.ok((value === undefined) !== (valueFrom === undefined), name);
      }
    });
  });
  test('has a folder for everything that the framework writes', () => {
    eachContainer(({ name, image, volumeMounts }) => {
      // These containers run no code of the framework.
      const isAlone = ['database-admin', 'store-signer', 'assets'].includes(name);
      if (!image.includes('erpnext') || isAlone) return;
      const paths = volumeMounts.map(({ mountPath }) => mountPath);
      const bench = '/home/frappe/frappe-bench';
      for (const path of ['/sites', '/logs', '/config', '/config/pids']) {
        assert.ok(paths.includes(bench + path), path);
      }
      assert.ok(paths.includes('/tmp'));
    });
  });
  test('knows a user name, which the bench command line reads', () => {
    eachContainer(({ image, env = [] }) => {
      if (image.includes('erpnext')) assert.ok(env.some(({ name }) => name === 'USER'));
    });
  });
  test('of the proxy and of the exporter cannot write to the sites', () => {
    eachContainer(({ name, volumeMounts }) => {
      if (!['nginx', 'metrics'].includes(name)) return;
      assert.equal(volumeMounts.find((mount) => mount.name === 'sites')?.readOnly, true);
    });
  });
});

suite('probes', () => {
  const PING = { path: '/api/method/ping', port: 8000 };
  test('of gunicorn are those of the specification', () => {
    eachContainer(({ name, livenessProbe, readinessProbe }, _pod, { resource }) => {
      if (name !== 'gunicorn') return;
      const { siteName } = resource.spec as { readonly siteName?: string };
      const header =
        siteName === undefined
          ? {}
          : { httpHeaders: [{ name: 'X-Frappe-Site-Name', value: siteName }] };
      assert.deepEqual(livenessProbe?.httpGet, PING, 'liveness names no site');
      assert.deepEqual(readinessProbe?.httpGet, { ...PING, ...header });
      assert.deepEqual([livenessProbe.initialDelaySeconds, livenessProbe.periodSeconds], [30, 10]);
      assert.deepEqual([readinessProbe.initialDelaySeconds, readinessProbe.periodSeconds], [10, 5]);
    });
  });
  test('of the proxy request the assets, and restart it only where nothing listens', () => {
    eachContainer(({ name, livenessProbe, readinessProbe }) => {
      if (name !== 'nginx') return;
      assert.deepEqual(readinessProbe?.httpGet, { path: '/assets/assets.json', port: 8080 });
      assert.deepEqual(livenessProbe?.tcpSocket, { port: 8080 });
    });
  });
  test('of the realtime server ask its port', () => {
    eachContainer(({ name, livenessProbe, readinessProbe }) => {
      if (name !== 'socketio') return;
      assert.deepEqual(readinessProbe?.tcpSocket, { port: 9000 });
      assert.deepEqual(livenessProbe?.tcpSocket, { port: 9000 });
    });
  });
  test('of the exporter ask whether it answers, not what', () => {
    eachContainer(({ name, livenessProbe, readinessProbe }) => {
      if (name !== 'metrics') return;
      assert.deepEqual(readinessProbe?.httpGet, { path: '/healthz', port: 9180 });
      assert.deepEqual(livenessProbe?.httpGet, { path: '/healthz', port: 9180 });
    });
  });
  test('of Redis and databases run a check in their own container', () => {
    eachContainer((container, { component }) => {
      if (!['redis', 'database'].includes(component)) return;
      const { livenessProbe, readinessProbe } = container;
      assert.ok(livenessProbe?.exec && readinessProbe?.exec);
      assert.equal(component === 'database', container.startupProbe !== undefined);
    });
  });
  test('are not made of workers, the scheduler and Jobs: a blip of the database must not kill a job', () => {
    eachContainer(({ name, livenessProbe, readinessProbe, startupProbe }) => {
      if (!/^(worker-|scheduler$|init$|drop$|queue-prefix$|backup|job$)/.test(name)) return;
      assert.deepEqual(
        [livenessProbe, readinessProbe, startupProbe],
        [undefined, undefined, undefined],
      );
    });
  });
  test('and every container is one of these', () => {
    const known =
      /^(gunicorn|nginx|socketio|cache|queue|mariadb|postgres|worker-\w+|scheduler|metrics|init|database-admin|store-signer|reopen|drop|queue-prefix|backup|backup-delete|configuration|job|assets|fonts|models|logs|tunnel|redis-exporter)$/;
    eachContainer(({ name }) => {
      assert.match(name, known);
    });
  });
});

suite('labels of the specification', () => {
  test('all pods carry the resource that they work for, and the app', () => {
    eachPod(({ labels, of }, { resource }) => {
      const kind = resource.kind.replace(/^App/, '').toLowerCase();
      assert.equal(labels[kind], resource.metadata.name);
      assert.equal(labels['app'], of.split(' ')[1]);
      assert.ok(labels['app-operator.io/bench']);
    });
  });
  test('what selects pods is on them', () => {
    eachPod(({ labels, selector = {} }) => {
      for (const [key, value] of Object.entries(selector)) assert.equal(labels[key], value, key);
    });
  });
});
