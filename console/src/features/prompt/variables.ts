/** What is wrong with the variables of a text: unknown ones, and required ones that are gone. */
export function faultsOf(text: string, variables: { required: readonly string[]; optional: readonly string[] }): string[] {
  const used = new Set([...text.matchAll(/\{\{-?\s*([A-Za-z_]\w*)/g)].map((match) => match[1]!));
  const known = new Set([...variables.required, ...variables.optional]);
  return [
    ...[...used].filter((name) => !known.has(name)).map((name) => `There is no variable ${name}.`),
    ...variables.required.filter((name) => !used.has(name)).map((name) => `The variable ${name} has to be in it.`),
  ];
}
