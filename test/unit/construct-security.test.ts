import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { benchModel } from '../../constructs/frappe/bench-model.js';
import { bareBench } from '../../constructs/frappe/site-model.js';
import { effectiveIds, resolveSecurity, userProblems } from '../../constructs/frappe/security.js';
import type { Security } from '../../constructs/kit/api.js';
import { DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/operator-settings.js';
import { aBench, aReader } from '../golden/builders.js';

/** What APP_DEFAULT_UID, APP_DEFAULT_GID and APP_DEFAULT_FSGROUP say in these tests. */
const SETTINGS = { ...DEFAULT_SETTINGS, defaultUid: 2001, defaultGid: 2002, defaultFsGroup: 2003 };
const pod = (podSecurityContext: Security['podSecurityContext']) =>
  podSecurityContext ? { podSecurityContext } : {};

suite('each value comes from the spec, then the operator, then the built-in defaults', () => {
  const ORDER: readonly (readonly [
    reason: string,
    security: Security | undefined,
    settings: Settings,
    user: number,
    group: number,
    fsGroup: number,
  ])[] = [
    ['nothing given: 1001, 0, 0', undefined, DEFAULT_SETTINGS, 1001, 0, 0],
    ['an empty spec decides nothing', {}, DEFAULT_SETTINGS, 1001, 0, 0],
    ['the environment', undefined, SETTINGS, 2001, 2002, 2003],
    ['an empty pod context decides nothing', pod({}), SETTINGS, 2001, 2002, 2003],
    ['the user of the spec', pod({ runAsUser: 1000 }), SETTINGS, 1000, 2002, 2003],
    ['the group of the spec', pod({ runAsGroup: 1000 }), SETTINGS, 2001, 1000, 2003],
    ['group 0 is a value too', pod({ runAsGroup: 0 }), SETTINGS, 2001, 0, 2003],
    ['the fsGroup of the spec', pod({ fsGroup: 1000 }), SETTINGS, 2001, 2002, 1000],
    ['fsGroup 0 is a value too', pod({ fsGroup: 0 }), SETTINGS, 2001, 2002, 0],
    [
      'all of the spec',
      pod({ runAsUser: 1, runAsGroup: 2, fsGroup: 3 }),
      DEFAULT_SETTINGS,
      1,
      2,
      3,
    ],
    [
      "a container's user leaves the pod's alone",
      { securityContext: { runAsUser: 1000, runAsGroup: 1000 } },
      SETTINGS,
      2001,
      2002,
      2003,
    ],
  ];
  for (const [reason, security, settings, runAsUser, runAsGroup, fsGroup] of ORDER) {
    test(reason, () => {
      const resolved = resolveSecurity(security, settings, false).pod;
      const { runAsUser: user, runAsGroup: group, fsGroup: volumes } = resolved;
      assert.deepEqual([user, group, volumes], [runAsUser, runAsGroup, fsGroup]);
    });
  }
});

suite('where the platform assigns ids', () => {
  const ids = (security: Security | undefined, settings: Settings): unknown[] => {
    const { runAsUser, runAsGroup, fsGroup } = resolveSecurity(security, settings, true).pod;
    return [runAsUser, runAsGroup, fsGroup];
  };
  test('no other container does', () => {
    assert.deepEqual(ids(undefined, DEFAULT_SETTINGS), [undefined, undefined, undefined]);
    const { pod: context } = resolveSecurity(undefined, DEFAULT_SETTINGS, true);
    assert.deepEqual(Object.keys(context).sort(), [
      'fsGroupChangePolicy',
      'runAsNonRoot',
      'seccompProfile',
    ]);
  });
  test('what the spec or the environment names still counts', () => {
    assert.deepEqual(ids(pod({ runAsUser: 1000 }), DEFAULT_SETTINGS), [1000, undefined, undefined]);
    assert.deepEqual(ids(undefined, SETTINGS), [2001, 2002, 2003]);
    const some = { ...DEFAULT_SETTINGS, defaultFsGroup: 2003 };
    assert.deepEqual(ids(pod({ runAsGroup: 0 }), some), [undefined, 0, 2003]);
  });
});

suite('containers', () => {
  const container = (securityContext?: Security['securityContext']) =>
    resolveSecurity(securityContext ? { securityContext } : undefined, SETTINGS, false).container;
  test('by default gain nothing, keep no capability and write nowhere but to volumes', () => {
    assert.deepEqual(container(), {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      readOnlyRootFilesystem: true,
    });
  });
  test('take each value of the spec', () => {
    assert.deepEqual(
      container({
        runAsUser: 1000,
        runAsGroup: 0,
        allowPrivilegeEscalation: true,
        capabilities: { drop: ['NET_RAW'] },
      }),
      {
        runAsUser: 1000,
        runAsGroup: 0,
        allowPrivilegeEscalation: true,
        capabilities: { drop: ['NET_RAW'] },
        readOnlyRootFilesystem: true,
      },
    );
  });
  test('keep no capability where the spec names none', () => {
    assert.deepEqual(container({ capabilities: {} }).capabilities, { drop: ['ALL'] });
  });
});

test('pods never run as root, and large volumes are not given a new owner at each start', () => {
  const { runAsNonRoot, seccompProfile, fsGroupChangePolicy } = resolveSecurity(
    undefined,
    SETTINGS,
    false,
  ).pod;
  assert.deepEqual(
    { runAsNonRoot, seccompProfile, fsGroupChangePolicy },
    {
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
      fsGroupChangePolicy: 'OnRootMismatch',
    },
  );
});

suite('a bench keeps the ids that it started with', () => {
  /** The ids after a start with the built-in defaults, and then with other variables. */
  const idsAfter = (first: Security | undefined, then: Security | undefined): string => {
    const recorded = effectiveIds(resolveSecurity(first, DEFAULT_SETTINGS, false));
    return effectiveIds(resolveSecurity(then, SETTINGS, false, recorded));
  };

  test('when APP_DEFAULT_UID, APP_DEFAULT_GID and APP_DEFAULT_FSGROUP change', () => {
    assert.equal(idsAfter(undefined, undefined), '1001/0/0');
    assert.equal(idsAfter(pod({ runAsUser: 5 }), pod({ runAsUser: 5 })), '5/0/0');
  });
  test('when the spec names the ids that are in use, or no longer names them', () => {
    const inUse = pod({ runAsUser: 1001, runAsGroup: 0, fsGroup: 0 });
    assert.equal(idsAfter(undefined, inUse), '1001/0/0');
    assert.deepEqual(userProblems(inUse, '1001/0/0'), []);
    const [before, after] = [undefined, inUse].map(
      (security) => resolveSecurity(security, SETTINGS, false, '1001/0/0').pod,
    );
    assert.deepEqual(after, before);
    assert.equal(idsAfter(pod({ runAsUser: 5, runAsGroup: 6 }), undefined), '5/6/0');
    assert.equal(idsAfter({ securityContext: { runAsUser: 7 } }, undefined), '7/0/0');
  });
  test('except for a group that the spec names', () => {
    assert.equal(idsAfter(undefined, pod({ runAsGroup: 8, fsGroup: 9 })), '1001/8/9');
  });
  test('and refuses another user, which could not read its files', () => {
    const other = pod({ runAsUser: 1002 });
    assert.equal(idsAfter(undefined, other), '1001/0/0');
    assert.equal(idsAfter(undefined, { securityContext: { runAsUser: 1002 } }), '1001/0/0');
    assert.deepEqual(userProblems(other, '1001/0/0'), [
      {
        path: 'spec.security.podSecurityContext.runAsUser',
        message:
          'Invalid value: 1002: runAsUser is immutable: the bench runs as user 1001, and the files on its volumes belong to that user; remove runAsUser',
      },
    ]);
    assert.deepEqual(userProblems(other, undefined), []);
  });
  test('also where the platform assigns them', () => {
    const recorded = effectiveIds(resolveSecurity(undefined, DEFAULT_SETTINGS, true));
    assert.equal(recorded, '-/-/-');
    assert.equal(effectiveIds(resolveSecurity(undefined, SETTINGS, true, recorded)), recorded);
    assert.match(userProblems(pod({ runAsUser: 1 }), recorded)[0]?.message ?? '', /platform/);
  });
  test('but built-in ids yield to a platform that is found later', () => {
    const found = (recorded: string) =>
      effectiveIds(resolveSecurity(undefined, DEFAULT_SETTINGS, true, recorded));
    assert.equal(found('1001/0/0'), '-/-/-');
    assert.equal(found('5/0/7'), '5/-/7');
  });
  test('and so do its sites', () => {
    const started = { ...aBench(), status: { ids: '1001/0/0' } };
    const model = benchModel(bareBench(started), aReader([], { settings: SETTINGS }));
    assert.equal(effectiveIds(model.security), '1001/0/0');
  });
});
