/** What stands in an object where the chart's template has an action. */
const TOKEN = /__helm(\d+)__/g;
/** A token that is alone: an entry of a map, or an item of a list. */
const LINE = /^( *)(?:- )?__helm(\d+)__(?:: null)?$/;

/** A token that is the whole value of a key, or of an item of a list. */
const WHOLE = /^( *(?:- )*(?:[^:\s]+: )?)(__helm\d+__)$/;

/** The text of an action at a depth of the YAML, in spaces. */
type Action = (indent: number) => string;

/**
 * Actions of a template, and the texts that stand for them in objects until those are printed as
 * YAML. Objects stay plain data, so what is made of them by one printer is whole YAML around the
 * actions. An action that is the same as one before has the same token, so that objects can be
 * compared.
 */
export class Tokens {
  readonly #actions: Action[] = [];
  readonly #known = new Map<string, string>();
  readonly #values = new Set<number>();
  /** The expressions of texts, by their tokens. */
  readonly #texts = new Map<string, string>();

  /** In place of a scalar, or within one: `{{ … }}` with this expression. */
  value(expression: string): string {
    const token = this.#token(() => `{{ ${expression} }}`);
    this.#values.add(Number(/[0-9]+/.exec(token)?.[0]));
    return token;
  }

  /** A value that is text: quoted where it is a whole scalar, since YAML reads `123` as a number. */
  text(expression: string): string {
    const token = this.value(expression);
    this.#texts.set(token, expression);
    return token;
  }

  /** In place of a map or a list: the YAML of what the expression gives. */
  block(expression: string): string {
    return this.#token((indent) => `{{- toYaml ${expression} | nindent ${indent + 2} }}`);
  }

  /** Whole lines: in a map as a key, in a list as an item. */
  lines(lines: (indent: number) => readonly string[]): string {
    return this.#token((indent) =>
      lines(indent)
        .map((line) => ' '.repeat(indent) + line)
        .join('\n'),
    );
  }

  /** A line with an action that opens or closes something: no two of them are the same one. */
  control(action: string): string {
    return this.#add((indent) => `${' '.repeat(indent)}{{- ${action} }}`);
  }

  /** The YAML with the actions in place. What looks like an action in the objects is text. */
  render(yaml: string): string {
    return yaml
      .split('\n')
      .map((line) => this.#render(line.replaceAll('{{', '{{ "{{" }}')))
      .join('\n');
  }

  #render(line: string): string {
    const [, spaces, alone] = LINE.exec(line) ?? [];
    // A value alone in a line is an item of a list, whose dash stays.
    const isValue = this.#values.has(Number(alone));
    if (spaces !== undefined && !isValue) return this.#action(alone, spaces.length);
    const indent = /^[ -]*/.exec(line)?.[0].length ?? 0;
    const [, start = '', whole = ''] = WHOLE.exec(line) ?? [];
    const text = this.#texts.get(whole);
    if (text !== undefined) return `${start}{{ ${text} | quote }}`;
    return line.replaceAll(TOKEN, (_, index: string) => this.#action(index, indent));
  }

  #action(index: string | undefined, indent: number): string {
    const action = this.#actions[Number(index)];
    if (!action) throw new Error(`no action ${index ?? ''}`);
    return action(indent);
  }

  #token(action: Action): string {
    const text = action(0);
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const token = this.#add(action);
    this.#known.set(text, token);
    return token;
  }

  #add(action: Action): string {
    return `__helm${this.#actions.push(action) - 1}__`;
  }
}
