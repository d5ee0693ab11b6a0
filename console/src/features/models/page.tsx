import { useQuery } from "@tanstack/react-query";
import { get, tagged, type Tagged } from "../../api/client";
import type { Models, ProviderState } from "../../api/types";
import { Loaded } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { factsOf } from "./facts";
import { ModelTable } from "./model-table";
import { Providers } from "./providers";
import { Role } from "./role";

export function Page() {
  useTitle("Models");
  const models = useQuery({ queryKey: ["models", "tagged"], queryFn: () => tagged<Models>("/v1/models") });
  const providers = useQuery({ queryKey: ["providers"], queryFn: () => get<{ items: ProviderState[] }>("/v1/providers"), refetchInterval: 3000 });
  const read = async (): Promise<Tagged<Models>> => (await models.refetch({ throwOnError: true })).data!;
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
        <Loaded query={models}>{(now) => <Roles now={now} read={read} />}</Loaded>
      </div>
    </>
  );
}

function Roles({ now, read }: { now: Tagged<Models>; read: () => Promise<Tagged<Models>> }) {
  const models = now.value;
  const facts = factsOf(models);
  return (
    <>
      {Object.keys(models.roles).map((role) => (
        <Role key={role} role={role} now={now} read={read} facts={facts} />
      ))}
      <datalist id="models">
        {facts.names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <ModelTable models={models} facts={facts} />
    </>
  );
}
