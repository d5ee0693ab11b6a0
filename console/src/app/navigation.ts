/** The places of the console, as the bar and the palette list them; `key` follows g. */
export const PLACES = [
  { group: "Work", name: "Overview", path: "/", key: "o" },
  { group: "Work", name: "Jobs", path: "/jobs", key: "j" },
  { group: "Work", name: "Transform", path: "/transform", key: "t" },
  { group: "Work", name: "Documents", path: "/documents", key: "d" },
  { group: "Work", name: "Search", path: "/search", key: "s" },
  { group: "Work", name: "Flows", path: "/flows", key: "f" },
  { group: "Work", name: "Detect", path: "/detect", key: "e" },
  { group: "Work", name: "Run", path: "/run", key: "r" },
  { group: "Work", name: "Conversations", path: "/conversations", key: "c" },
  { group: "Tune", name: "Prompts", path: "/prompts", key: "p" },
  { group: "Tune", name: "Models", path: "/models", key: "m" },
  { group: "Tune", name: "Evaluations", path: "/evaluations", key: "v" },
  { group: "Operate", name: "Queues", path: "/queues", key: "q" },
  { group: "Operate", name: "Usage", path: "/usage", key: "u" },
  { group: "Operate", name: "Keys", path: "/keys", key: "k", scopes: ["admin", "tenant_admin"] },
  { group: "Operate", name: "Settings", path: "/settings", key: "," },
] as const satisfies readonly Place[];

export interface Place {
  group: "Work" | "Tune" | "Operate";
  name: string;
  path: string;
  key: string;
  /** Whom it is for, when not for everybody: one of these is enough. */
  scopes?: readonly string[];
}

/** The places that a key with these scopes has something to do in. */
export function placesFor(scopes: readonly string[]): readonly Place[] {
  return (PLACES as readonly Place[]).filter((place) => place.scopes === undefined || place.scopes.some((scope) => scopes.includes(scope)));
}

/** Where a job of a kind is opened for more work; none yet for kinds without a workbench. */
export const WORKBENCHES: Readonly<Record<string, string>> = {
  transform: "/transform",
  execute: "/run",
  document: "/documents",
  search: "/search",
  detect: "/detect",
};

/** The looks of the console, and the ways to write times, as they are called. */
export const SCHEMES = [
  { scheme: "auto", name: "As the system" },
  { scheme: "light", name: "Light" },
  { scheme: "dark", name: "Dark" },
] as const;

export const TIME_NAMES = { ago: "How long ago", local: "Of this machine", UTC: "UTC" } as const;
