import { useQuery } from "@tanstack/react-query";
import { get, tagged, type Tagged } from "../../api/client";
import type { Models, ProviderState } from "../../api/types";
import { Loaded } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { factsOf } from "./facts";
import { ModelTable } from "./model-table";
import { Providers } from "./providers";
import { Role } from "./role";
import { RoleTable } from "./role-table";

export function Page() {
  useTitle("Models");
  const models = useQuery({ queryKey: ["models", "tagged"], queryFn: () => tagged<Models>("/v1/models") });
  const providers = useQuery({ queryKey: ["providers"], queryFn: () => get<{ items: ProviderState[] }>("/v1/providers"), refetchInterval: 3000 });
  const read = async (): Promise<Tagged<Models>> => (await models.refetch({ throwOnError: true })).data!;
  return (
    <>
      <div className="head">
        <div className="title">
          <h1>Models</h1>
          <p>Models and fallback order per role</p>
        </div>
      </div>
      <div className="sections">
        <section aria-label="Providers">
          <div className="sec">
            <h2>Providers</h2>
            <span className="muted">last hour</span>
          </div>
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
      <RoleTable roles={models.roles} editor={(role) => <Role role={role} now={now} read={read} facts={facts} />} />
      <datalist id="models">
        {facts.names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <ModelTable models={models} facts={facts} />
    </>
  );
}
