import { useQuery } from "@tanstack/react-query";
import { get } from "../api/client";
import type { components } from "../api/schema";
import type { Capabilities } from "../api/types";
import { providerState, type State, type Tone } from "../shared/values/states";

type Schemas = components["schemas"];
type Stats = Schemas["Stats"];

const HOUR_MS = 3_600_000;

/** A provider as the header and the overview show it: its breaker, and its calls of the last hour. */
export interface ProviderHealth {
  provider: Schemas["ProviderState"];
  state: State;
  calls: number;
  errors: number;
  /** Median seconds of an answer. */
  median: number | null;
}

export interface InstallationHealth {
  tone: Tone;
  words: string;
  /** What is wrong, a line each. */
  faults: readonly string[];
}

/** The providers that have a key, the worst first. */
export function useProviders(): readonly ProviderHealth[] | undefined {
  const providers = useQuery({ queryKey: ["providers"], queryFn: () => get<Schemas["Providers"]>("/v1/providers"), refetchInterval: 15_000 });
  const hour = useQuery({
    queryKey: ["stats", "provider", "hour"],
    queryFn: () => get<Stats>("/v1/stats", { by: "provider", bucket: "all", from: new Date(Date.now() - HOUR_MS).toISOString() }),
    refetchInterval: 15_000,
  });
  if (providers.data === undefined) return undefined;
  return providersHealth(providers.data.items, hour.data?.items ?? []);
}

const WORST: readonly Tone[] = ["bad", "warn", "accent", "good", "neutral"];

export function providersHealth(providers: readonly Schemas["ProviderState"][], rows: readonly Schemas["StatsRow"][]): ProviderHealth[] {
  const healths = providers.map((provider) => {
    const row = rows.find((each) => each.group === provider.name);
    const [calls, errors] = [row?.calls ?? 0, row?.errors ?? 0];
    return { provider, state: providerState(provider.state, { calls, errors }), calls, errors, median: row?.run_p50 ?? null };
  });
  return healths.sort((one, other) => WORST.indexOf(one.state.tone) - WORST.indexOf(other.state.tone));
}

/** One line about the whole installation: what is degraded, the worst first. */
export function installationHealth(capabilities: Capabilities | undefined, providers: readonly ProviderHealth[]): InstallationHealth {
  const kinds = Object.entries(capabilities?.kinds ?? {}).filter(([, kind]) => kind.state !== "ready");
  const troubled = providers.filter(({ state }) => state.tone === "bad" || state.tone === "warn");
  const faults = [
    ...kinds.map(([kind, { state, reason }]) => `${kind}: ${reason ?? state.replaceAll("_", " ")}`),
    ...troubled.map(({ provider, state, calls, errors }) => `${provider.name}: ${state.word}${errors > 0 ? `, ${errors} of ${calls} calls failed` : ""}`),
  ];
  if (kinds.length > 0) return { tone: "warn", words: `${kinds.length} of ${Object.keys(capabilities!.kinds).length} job types degraded`, faults };
  if (troubled.length > 0) return { tone: "warn", words: `${troubled.length} ${troubled.length === 1 ? "provider" : "providers"} degraded`, faults };
  return { tone: "good", words: "All systems operational", faults };
}
