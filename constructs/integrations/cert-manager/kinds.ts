import { findCondition, type Health, type Observable } from '../../kit/health.js';
import { advisoryKind, optionalKind, type ObjectKind } from '../../kit/object-kind.js';

export const Certificate: ObjectKind = {
  ...advisoryKind('cert-manager.io/v1', 'Certificate', 'certificates'),
  health: {
    reportsReady: true,
    // Why the issuing failed says more than that there is no certificate.
    evaluate(object: Observable, byReady: Health): Health {
      const failed = findCondition(object, 'Issuing', 'False');
      return byReady.state === 'InProgress' && failed?.message
        ? { ...byReady, message: failed.message }
        : byReady;
    },
  },
};
export const Issuer = optionalKind('cert-manager.io/v1', 'Issuer', 'issuers');
export const ClusterIssuer: ObjectKind = {
  ...optionalKind('cert-manager.io/v1', 'ClusterIssuer', 'clusterissuers'),
  clusterScoped: true,
};
