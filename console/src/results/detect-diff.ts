import type { DetectResult } from "../api/types";

type Service = DetectResult["services"][number];

export interface Line {
  sign: "+" | "-" | "~";
  text: string;
}

/** What another detection found of the same tree: services, and of each what it is made of. */
export function detectDiff(before: DetectResult, after: DetectResult): Line[] {
  const [old, now] = [byPath(before), byPath(after)];
  const gone = [...old.values()].filter((service) => !now.has(service.path)).map((service): Line => ({ sign: "-", text: `service ${nameOf(service)}` }));
  const come = [...now.values()].filter((service) => !old.has(service.path)).map((service): Line => ({ sign: "+", text: `service ${nameOf(service)}` }));
  const changed = [...now.values()].flatMap((service) => {
    const known = old.get(service.path);
    return known === undefined ? [] : between(factsOf(known), factsOf(service)).map(({ sign, text }): Line => ({ sign, text: `${nameOf(service)}, ${text}` }));
  });
  return [...gone, ...come, ...changed];
}

function byPath(result: DetectResult): Map<string, Service> {
  return new Map(result.services.map((service) => [service.path, service]));
}

function nameOf({ name, path }: Service): string {
  return path === "" || path === name ? name : `${name} (${path})`;
}

/** What is said of a service, by what it is about. */
function factsOf(service: Service): Map<string, string> {
  return new Map([
    ["role", service.role],
    ...Object.entries(service.primary).flatMap(([axis, value]): [string, string][] => (value ? [[axis.replaceAll("_", " "), String(value)]] : [])),
    ...service.versions.map((trail): [string, string] => [`version of ${trail.runtime}`, trail.value]),
    ...service.candidates.map((each): [string, string] => [`${each.kind.replaceAll("_", " ")} candidate ${each.name}`, each.version ?? "found"]),
    ...(service.backing_services ?? []).map((backing): [string, string] => [`use of ${backing.name}`, backing.category]),
    ["build", (service.build.commands ?? []).join(" && ")] as [string, string],
    ["start", (service.runtime.command ?? []).join(" ")] as [string, string],
    ["ports", (service.runtime.ports ?? []).join(", ")] as [string, string],
  ].filter(([, value]) => value !== "") as [string, string][]);
}

function between(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): Line[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names.flatMap((name): Line[] => {
    const [old, now] = [before.get(name), after.get(name)];
    if (old === now) return [];
    if (old === undefined) return [{ sign: "+", text: `${name}: ${now}` }];
    return now === undefined ? [{ sign: "-", text: `${name}: ${old}` }] : [{ sign: "~", text: `${name}: ${old} › ${now}` }];
  });
}
