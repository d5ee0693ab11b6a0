import {
  ChartColumn,
  Cpu,
  FileText,
  FlaskConical,
  KeyRound,
  Layers,
  LayoutDashboard,
  List,
  MessageSquareText,
  MessagesSquare,
  ScanSearch,
  Search,
  Settings,
  SquareTerminal,
  WandSparkles,
  Workflow,
  type LucideIcon,
} from "lucide-react";

/** The places of the console, as the bar and the palette list them; `key` follows g. */
export const PLACES = [
  { group: "Work", name: "Overview", path: "/", key: "o", icon: LayoutDashboard },
  { group: "Work", name: "Jobs", path: "/jobs", key: "j", icon: List },
  { group: "Work", name: "Transform", path: "/transform", key: "t", icon: WandSparkles },
  { group: "Work", name: "Documents", path: "/documents", key: "d", icon: FileText },
  { group: "Work", name: "Search", path: "/search", key: "s", icon: Search },
  { group: "Work", name: "Flows", path: "/flows", key: "f", icon: Workflow },
  { group: "Work", name: "Detect", path: "/detect", key: "e", icon: ScanSearch },
  { group: "Work", name: "Run", path: "/run", key: "r", icon: SquareTerminal },
  { group: "Work", name: "Conversations", path: "/conversations", key: "c", icon: MessagesSquare },
  { group: "Tune", name: "Prompts", path: "/prompts", key: "p", icon: MessageSquareText },
  { group: "Tune", name: "Models", path: "/models", key: "m", icon: Cpu },
  { group: "Tune", name: "Evaluations", path: "/evaluations", key: "v", icon: FlaskConical },
  { group: "Operate", name: "Queues", path: "/queues", key: "q", icon: Layers },
  { group: "Operate", name: "Usage", path: "/usage", key: "u", icon: ChartColumn },
  { group: "Operate", name: "Keys", path: "/keys", key: "k", icon: KeyRound, scopes: ["admin", "tenant_admin"] },
  { group: "Operate", name: "Settings", path: "/settings", key: ",", icon: Settings },
] as const satisfies readonly Place[];

export interface Place {
  group: "Work" | "Tune" | "Operate";
  name: string;
  path: string;
  key: string;
  icon: LucideIcon;
  /** Scopes of which one is needed; missing where every key may open the page. */
  scopes?: readonly string[];
}

/** The places that a key with these scopes has something to do in. */
export function placesFor(scopes: readonly string[]): readonly Place[] {
  return (PLACES as readonly Place[]).filter((place) => place.scopes === undefined || place.scopes.some((scope) => scopes.includes(scope)));
}

/** Where a job of a type is opened for more work; none for types without a workbench. */
export const WORKBENCHES: Readonly<Record<string, string>> = {
  transform: "/transform",
  execute: "/run",
  document: "/documents",
  search: "/search",
  detect: "/detect",
};

/** The name of a workbench, as the bar has it. */
export function nameOfPlace(path: string): string {
  return PLACES.find((place) => place.path === path)?.name ?? path;
}

/** The looks of the console, and the ways to write times, as they are called. */
export const SCHEMES = [
  { scheme: "auto", name: "System" },
  { scheme: "light", name: "Light" },
  { scheme: "dark", name: "Dark" },
] as const;

export const TIME_NAMES = { ago: "Relative", local: "Local time", UTC: "UTC" } as const;
