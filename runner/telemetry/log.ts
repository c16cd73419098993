import type { Writable } from 'node:stream';
import { createLogger as createWinston, format, type Logger as Winston, transports } from 'winston';
import { cutText } from '../kit/cut-text.js';
import type { Config } from '../config/config.js';
import type { LogEncoder, LogLevel } from '../config/operator-flags.js';
import { redact, redactText } from './redact.js';

export type Fields = Readonly<Record<string, unknown>>;

/**
 * A log of constant messages with fields, so that a message can be counted and searched.
 * The field `error` is the caught error; `logger` names the component.
 */
export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** A logger that adds these fields to each line. */
  child(fields: Fields): Logger;
}

/**
 * Writes lines as zap does: `level`, `ts`, `logger`, `msg`, the fields, `error`; errors at the levels
 * debug and error have their `stacktrace`.
 */
export function createLogger(
  config: Pick<Config, 'logLevel' | 'logEncoder'>,
  stream: Writable = process.stderr,
): Logger {
  // Each failed write is an event: a full disk or a closed pipe loses lines, and must not end the process.
  stream.on('error', () => undefined);
  const winston = createWinston({
    level: config.logLevel,
    format: format.printf((info) => encode(info, config.logEncoder)),
    transports: [new transports.Stream({ stream })],
  });
  return new FieldLogger(winston, {});
}

class FieldLogger implements Logger {
  constructor(
    private readonly winston: Winston,
    private readonly fields: Fields,
  ) {}

  debug(message: string, fields?: Fields): void {
    this.write('debug', message, fields);
  }
  info(message: string, fields?: Fields): void {
    this.write('info', message, fields);
  }
  warn(message: string, fields?: Fields): void {
    this.write('warn', message, fields);
  }
  error(message: string, fields?: Fields): void {
    this.write('error', message, fields);
  }
  child(fields: Fields): Logger {
    return new FieldLogger(this.winston, { ...this.fields, ...fields });
  }

  private write(level: LogLevel, message: string, fields?: Fields): void {
    if (!this.winston.isLevelEnabled(level)) return;
    // In a nested object, winston does not interpret `message`, `level` and `stack`.
    this.winston.log({ level, message, fields: { ...this.fields, ...fields } });
  }
}

/** A longer text of a field is cut: an error may quote what a tenant has written. */
const MAX_TEXT = 8 * 1024;

interface Line {
  readonly level: string;
  readonly message: unknown;
  readonly fields?: unknown;
}

function encode({ level, message, fields }: Line, encoder: LogEncoder): string {
  const { logger, error, ...rest } = (fields ?? {}) as Fields;
  const ts = new Date().toISOString();
  const body: Record<string, unknown> = {
    ...(redact(rest, { text }) as object),
    ...(error !== undefined && errorFields(error, level)),
  };
  if (encoder === 'json') {
    const head = { level, ts, ...(logger !== undefined && { logger }), msg: message };
    // A field cannot override the head, which is written first.
    return JSON.stringify({ ...head, ...body, ...head });
  }
  const { stacktrace, ...inline } = body;
  return [
    ts,
    level.toUpperCase(),
    logger,
    message,
    Object.keys(inline).length > 0 && JSON.stringify(inline),
  ]
    .filter(Boolean)
    .join('\t')
    .concat(typeof stacktrace === 'string' ? `\n${stacktrace}` : '');
}

function errorFields(error: unknown, level: string): Fields {
  if (!(error instanceof Error)) return { error: redact(error, { text }) };
  const stack = level === 'error' || level === 'debug' ? error.stack : undefined;
  return {
    error: text(messages(error).join(': ')),
    ...(stack !== undefined && { stacktrace: text(stack) }),
  };
}

/** A text as it is logged. */
function text(value: string): string {
  return redactText(cutText(value, MAX_TEXT));
}

/** The messages of an error and of its causes. */
function messages(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error)) return [String(error)];
  if (error.cause === undefined || depth >= 5) return [error.message];
  return [error.message, ...messages(error.cause, depth + 1)];
}
