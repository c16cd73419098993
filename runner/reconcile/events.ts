import { hashOf } from '../../constructs/kit/json/hash.js';
import type { Resource } from '../../constructs/kit/object.js';
import type { Client } from '../api/client.js';
import type { Logger } from '../telemetry/log.js';

export interface EventRecord {
  readonly type: 'Normal' | 'Warning';
  /** The reason of the condition. */
  readonly reason: string;
  readonly message: string;
  /** What the operator did. */
  readonly action: string;
}

/** Records events on resources. A failed request is logged, and the event is lost. */
export class Events {
  constructor(
    private readonly props: {
      readonly client: Pick<Client, 'request'>;
      readonly log: Logger;
      readonly instance: string;
      readonly now: () => Date;
    },
  ) {}

  record(resource: Resource, event: EventRecord): void {
    const { client, log, instance, now } = this.props;
    const { namespace = 'default', name, uid, resourceVersion } = resource.metadata;
    const time = now().toISOString();
    const id = hashOf([uid, event.reason, event.message, time]).slice(0, 12);
    client
      .request('POST', `/apis/events.k8s.io/v1/namespaces/${namespace}/events`, {
        body: {
          apiVersion: 'events.k8s.io/v1',
          kind: 'Event',
          metadata: { name: `${name}.${id}`, namespace },
          eventTime: time.replace('Z', '000Z'),
          reportingController: 'app-operator',
          reportingInstance: instance,
          regarding: {
            apiVersion: resource.apiVersion,
            kind: resource.kind,
            namespace,
            name,
            uid,
            resourceVersion,
          },
          type: event.type,
          reason: event.reason,
          action: event.action,
          note: event.message.slice(0, 1000),
        },
      })
      .catch((error: unknown) => {
        log.debug('event not recorded', { namespace, name, reason: event.reason, error });
      });
  }
}
