import { useQuery } from "@tanstack/react-query";
import { get, tagged } from "../../api/client";
import type { Models, ProviderState } from "../../api/types";
import { Loaded } from "../../shared/states";
import { useTitle } from "../../shared/title";
import { factsOf } from "./facts";
import { Known } from "./known";
import { Providers } from "./providers";
import { Role } from "./role";

export function Page() {
  useTitle("Models");
  const models = useQuery({ queryKey: ["models", "tagged"], queryFn: () => tagged<Models>("/v1/models") });
  const providers = useQuery({ queryKey: ["providers"], queryFn: () => get<{ items: ProviderState[] }>("/v1/providers"), refetchInterval: 3000 });
  return (
    <>
      <div className="head">
        <h1>Models</h1>
        <span className="muted">who is asked for what, in which order</span>
      </div>
      <div className="stack">
        <section className="panel" aria-label="Providers">
          <h2>Providers</h2>
          <Loaded query={providers}>{({ items }) => <Providers items={items} />}</Loaded>
        </section>
        <Loaded query={models}>{({ value, tag }) => <Roles models={value} tag={tag} />}</Loaded>
      </div>
    </>
  );
}

function Roles({ models, tag }: { models: Models; tag: string | null }) {
  const facts = factsOf(models);
  return (
    <>
      {Object.entries(models.roles).map(([role, chain]) => (
        <Role key={role} role={role} chain={chain} tag={tag} facts={facts} />
      ))}
      <datalist id="models">
        {facts.names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Known models={models} facts={facts} />
    </>
  );
}
