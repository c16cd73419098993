import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';

/** One answered request, as the API server's audit log has it (level Metadata). */
export interface AuditEvent {
  readonly verb: string;
  readonly requestURI: string;
  readonly userAgent?: string;
  readonly user: { readonly username: string; readonly groups?: readonly string[] };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  /** RFC 3339, in microseconds. */
  readonly requestReceivedTimestamp: string;
  /** When the stage was reached, in the same form. */
  readonly stageTimestamp: string;
  /** `ResponseComplete`, or `ResponseStarted` for a watch that has begun. */
  readonly stage: string;
}

/**
 * Reads the events of an audit log in the order of their answers. A watch appears twice: when it
 * begins and when it ends. The last line is left out while the API server is writing it.
 *
 * @param start the byte to read from, at the begin of a line
 */
export async function* readAudit(path: string, start = 0): AsyncGenerator<AuditEvent> {
  let rest = '';
  for await (const chunk of createReadStream(path, { encoding: 'utf8', start })) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) yield JSON.parse(line) as AuditEvent;
  }
}

/** An audit log that is read again and again: each time only what was added since. */
export class AuditLog {
  readonly #events: AuditEvent[] = [];
  #reading: Promise<unknown> = Promise.resolve();

  /** @param position the byte to read from, at the begin of a line */
  constructor(
    private readonly path: string,
    private position = 0,
  ) {}

  /** The events so far, as `readAudit` returns them. */
  async events(): Promise<readonly AuditEvent[]> {
    const read = this.#reading.then(() => this.#readOn());
    this.#reading = read.catch(() => undefined);
    await read;
    return this.#events;
  }

  async #readOn(): Promise<void> {
    await using file = await open(this.path);
    const { size } = await file.stat();
    const buffer = Buffer.alloc(size - this.position);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, this.position);
    const end = buffer.subarray(0, bytesRead).lastIndexOf('\n') + 1;
    this.position += end;
    for (const line of buffer.toString('utf8', 0, end).split('\n')) {
      if (line.startsWith('{')) this.#events.push(JSON.parse(line) as AuditEvent);
    }
  }
}
