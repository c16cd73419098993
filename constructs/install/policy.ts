/** What an admission policy says, in CEL. */
export interface PolicyRules {
  readonly variables: readonly Variable[];
  readonly validations: readonly Validation[];
}

/** An expression with a name. It is evaluated once, where the first one needs it. */
export interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** What must hold, and the message where it does not. */
export interface Validation {
  readonly expression: string;
  readonly messageExpression: string;
}
