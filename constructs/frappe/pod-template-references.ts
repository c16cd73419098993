import type { ObjectReference } from '../kit/kind.js';
import type { TemplateContainer, TemplateVolume } from './pod-template-schema.js';
import type { RawTemplates } from './pod-template.js';
import { PATH, components } from './pod-template-rules.js';

/** Every object of the namespace whose content a template gives to pods. */
export function templateReferences(
  templates: RawTemplates | undefined,
): readonly ObjectReference[] {
  return components(templates).flatMap(([component, { spec = {} }]) => {
    const path = `${PATH}.${component}.spec`;
    return [
      ...(spec.volumes ?? []).flatMap((volume, i) =>
        volumeReferences(volume, `${path}.volumes[${i}]`),
      ),
      ...(['containers', 'initContainers'] as const).flatMap((field) =>
        (spec[field] ?? []).flatMap((container, i) =>
          containerReferences(container, `${path}.${field}[${i}]`),
        ),
      ),
    ];
  });
}

function volumeReferences(
  { secret, configMap, persistentVolumeClaim: claim }: TemplateVolume,
  path: string,
): readonly ObjectReference[] {
  return [
    ...reference('Secret', secret?.secretName, `${path}.secret.secretName`),
    ...reference('ConfigMap', configMap?.name, `${path}.configMap.name`),
    ...reference(
      'PersistentVolumeClaim',
      claim?.claimName,
      `${path}.persistentVolumeClaim.claimName`,
    ),
  ];
}

function containerReferences(
  { env = [], envFrom = [] }: TemplateContainer,
  path: string,
): readonly ObjectReference[] {
  return [
    ...env.flatMap(({ valueFrom }, i) => {
      const at = `${path}.env[${i}].valueFrom`;
      return [
        ...reference('Secret', valueFrom?.secretKeyRef?.name, `${at}.secretKeyRef.name`),
        ...reference('ConfigMap', valueFrom?.configMapKeyRef?.name, `${at}.configMapKeyRef.name`),
      ];
    }),
    ...envFrom.flatMap(({ secretRef, configMapRef }, i) => {
      const at = `${path}.envFrom[${i}]`;
      return [
        ...reference('Secret', secretRef?.name, `${at}.secretRef.name`),
        ...reference('ConfigMap', configMapRef?.name, `${at}.configMapRef.name`),
      ];
    }),
  ];
}

function reference(
  kind: string,
  name: string | undefined,
  path: string,
): readonly ObjectReference[] {
  return name === undefined ? [] : [{ kind, name, path }];
}
