import type { NamingField, PodFields, ShapingField } from '../kit/pod-fields.js';
import {
  isChanged,
  isNew,
  newItems,
  newKeys,
  optional,
  repetition,
  some,
  SPEC,
  SPECS,
  text,
  variableName,
} from './cel.js';
import type { PolicyRules, Variable, Validation } from './policy.js';

/**
 * Who may set the fields by which an author decides about pods: a change is checked as if its author created
 * such a pod. So it takes the right to create pods, and to get the Secrets and ConfigMaps that it names.
 * Only what a change sets is checked: controllers, and the operator itself, have no need of these rights.
 */
export function authorRules({ shapes = [], names = [] }: PodFields): PolicyRules {
  const named = [...singleNames(names), ...nestedNames(names)];
  const asks = [
    ...shapes.map((field) => ({ path: pathOf(field.path), condition: shapesPods(field) })),
    ...named.map(({ path, variable }) => ({
      path,
      condition: `variables.${variable.name}.size() > 0`,
    })),
  ];
  const list = asks.map(({ path, condition }) => `${condition} ? ${text(path)} : ''`).join(', ');
  return {
    variables: [
      ...SPECS,
      ...RIGHTS,
      ...named.map(({ variable }) => variable),
      { name: 'asks', expression: `[${list}].filter(f, f != '')` },
    ],
    validations: [
      {
        expression: 'variables.asks.size() == 0 || variables.mayCreatePods',
        messageExpression: `variables.asks.join(', ') + ': forbidden: decides about pods, and you may not create pods in namespace ' + request.namespace + '; ask for this right, or let an author who has it make the change'`,
      },
      ...named.flatMap(({ validation }) => validation ?? []),
    ],
  };
}

const may = (resource: string, verb: string): string =>
  `authorizer.group('').resource('${resource}').namespace(request.namespace).check('${verb}').allowed()`;

/** An API server lets an expression check two rights, and each variable is an expression of its own. */
const RIGHTS: readonly Variable[] = [
  { name: 'mayCreatePods', expression: may('pods', 'create') },
  { name: 'maySecret', expression: may('secrets', 'get') },
  { name: 'mayConfigMap', expression: may('configmaps', 'get') },
];

function shapesPods({ path, when = () => 'true' }: ShapingField): string {
  const found = repetition(path);
  if (found) return `${newKeys(found.head, () => 'true')}.size() > 0`;
  return `(${isNew(path)} && ${when(`${optional(SPEC, path)}.value()`)})`;
}

/** A field that names objects, or several fields of one map. */
interface Named {
  readonly path: string;
  /** The names that a change gives; of a map, its keys. */
  readonly variable: Variable;
  /** Undefined where the right to create pods is enough. */
  readonly validation: Validation | undefined;
}

/** The fields whose names can be checked one by one: those outside of a list, and those of a flat one. */
function singleNames(names: readonly NamingField[]): readonly Named[] {
  return names.filter(isSingle).map(({ path, kind, sentBy = [] }) => {
    const variable = {
      name: variableName(path),
      expression: newNames(path, sentBy),
    };
    const given = `variables.${variable.name}`;
    const check = (name: string): string =>
      `authorizer.group('').resource('${kind.toLowerCase()}s').namespace(request.namespace).name(${name}).check('get').allowed()`;
    const byName = `${given}.size() <= 2 && ${check(`${given}[0]`)} && ${check(`${given}[${given}.size() - 1]`)}`;
    return {
      path: pathOf(path),
      variable,
      validation:
        kind === 'PersistentVolumeClaim'
          ? undefined
          : {
              expression: `${given}.size() == 0 || variables.may${kind} || (${byName})`,
              messageExpression: refusal(text(pathOf(path)), kind, `${given}.join('", "')`),
            },
    };
  });
}

function newNames(path: string, sentBy: readonly string[]): string {
  const found = repetition(path);
  if (found) {
    return `${newItems(found.head, found.tail)}.map(i, i.${found.tail})`;
  }
  // With its key: another key of the same Secret is another content.
  const reference = path.replace(/[.](name|claimName)$/, '');
  const checked = [reference, ...sentBy].map(isChanged).join(' || ');
  const value = optional(SPEC, path);
  return `${value}.hasValue() && (${checked}) ? [${value}.value()] : []`;
}

/** The fields in lists of lists. A changed value of their map is checked as a whole, as a pod is. */
function nestedNames(names: readonly NamingField[]): readonly Named[] {
  const nested = Map.groupBy(
    names.filter((field) => !isSingle(field)),
    ({ path, kind }) => `${repetition(path)?.head ?? ''} ${kind}`,
  );
  return [...nested.values()].flatMap((fields) => {
    const [first] = fields;
    const head = first && repetition(first.path)?.head;
    if (!first || head === undefined) return [];
    const { kind } = first;
    const names = (value: string): string =>
      fields
        .map(({ path }) =>
          some(value, repetition(path)?.tail ?? '', (name) => `${name}.hasValue()`),
        )
        .join(' || ');
    const variable = { name: `${head}_${kind}`, expression: newKeys(head, names) };
    return [
      {
        path: pathOf(head),
        variable,
        validation:
          kind === 'PersistentVolumeClaim'
            ? undefined
            : {
                expression: `variables.${variable.name}.size() == 0 || variables.may${kind}`,
                messageExpression: `${text(`${pathOf(head)}: forbidden: `)} + variables.${variable.name}.join(', ') + ${text(`: names a ${kind}, and you may not get all ${kind}s of namespace `)} + request.namespace + ${AUTHOR}`,
              },
      },
    ];
  });
}

const AUTHOR = `'; ask for this right, or let an author who has it make the change'`;

function refusal(path: string, kind: string, names: string): string {
  return `${path} + ': forbidden: "' + ${names} + ${text(`": you may not get this ${kind} in namespace `)} + request.namespace + ${AUTHOR}`;
}

function isSingle({ path }: NamingField): boolean {
  const found = repetition(path);
  return !found || (!found.ofMap && !repetition(found.tail));
}

/** A path as a user writes it. */
function pathOf(path: string): string {
  return `spec.${path.replaceAll(/\{\}/g, '')}`;
}
