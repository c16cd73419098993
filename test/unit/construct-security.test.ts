import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resolveSecurity } from '../../constructs/frappe/security.js';
import type { Security } from '../../constructs/kit/api.js';
import { DEFAULT_SETTINGS, type Settings } from '../../constructs/kit/settings.js';

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
