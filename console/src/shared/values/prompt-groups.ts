interface Keyed {
  key: string;
}

/** Prompts by the role that uses them; those of a service that no role names come last, under the service. */
export function groupsOf<P extends Keyed>(prompts: readonly P[], roles: readonly string[]): [group: string, prompts: P[]][] {
  const groups = new Map<string, P[]>();
  const longest = [...roles].sort((one, other) => other.length - one.length);
  for (const prompt of prompts) {
    const group = longest.find((role) => prompt.key === role || prompt.key.startsWith(`${role}_`)) ?? prompt.key.split(".")[0]!;
    groups.set(group, [...(groups.get(group) ?? []), prompt]);
  }
  return [...groups].sort(([one], [other]) => one.localeCompare(other));
}
