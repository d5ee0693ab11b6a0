import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { Capabilities } from "../../api/types";
import { visible } from "../code/ansi";

/** What is done about a kind that is not ready, by its state. */
export const REMEDIES: Readonly<Record<string, string>> = {
  needs_provider: "Set a provider's key on the server (GROQ_API_KEY, CEREBRAS_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY) and start it again.",
  no_worker: "Start its worker: `assay status` says which process does not run, its log says why.",
};

export function useCapabilities() {
  return useQuery({ queryKey: ["capabilities"], queryFn: () => get<Capabilities>("/v1/capabilities") });
}

/** Above a workbench whose kind is not ready: why, and what to do. What needs no model works all the same. */
export function Readiness({ kind }: { kind: string }) {
  const known = useCapabilities().data?.kinds[kind];
  if (known === undefined || known.state === "ready") return null;
  return (
    <p className="callout warn" role="status">
      <b>{kind} is limited here:</b> {visible(known.reason ?? known.state.replaceAll("_", " "))} {REMEDIES[known.state] ?? ""}
      {known.state === "needs_provider" ? " What needs no model works." : ""}
    </p>
  );
}
