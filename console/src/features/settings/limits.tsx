import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { get, put } from "../../api/client";
import type { components } from "../../api/schema";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { faultsOf } from "../../shared/editing/field-errors";
import { NumberInput } from "../../shared/editing/number-input";
import { Callout } from "../../shared/page/callout";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { Quotas, QUOTA_NAMES, amount } from "../../shared/page/quotas";
import { useUrl } from "../../shared/page/url";
import { SortedTable } from "../../shared/tables/sorted-table";
import { bodyOf, draftOf, shownOf, WEIGHT, type Draft, type TenantLimits } from "./limit-draft";

type Stats = components["schemas"]["Stats"];

/** What each tenant may have: an administrator of the installation sets it, everyone else reads their own. */
export function Limits() {
  const session = useSession();
  const [{ tenant }, change] = useUrl();
  if (session === undefined || !session.scopes.includes("admin")) return <Quotas title="Limits of your tenant" all />;
  const chosen = tenant ?? session.tenant;
  return (
    <div className="sections">
      <ChooseTenant key={chosen} tenant={chosen} onChoose={(name) => change({ tenant: name === session.tenant ? null : name })} />
      <OfTenant key={`limits of ${chosen}`} tenant={chosen} />
    </div>
  );
}

/** A tenant that has jobs, from a list, or another one by its name: limits can be set before its first job. */
function ChooseTenant({ tenant, onChoose }: { tenant: string; onChoose: (name: string) => void }) {
  const [name, setName] = useState(tenant);
  const known = useQuery({ queryKey: ["stats", "tenant", "all"], queryFn: () => get<Stats>("/v1/stats", { by: "tenant", bucket: "all" }) });
  return (
    <form
      className="bar"
      style={{ alignItems: "end" }}
      onSubmit={(event) => {
        event.preventDefault();
        onChoose(name.trim());
      }}
    >
      <TextInput label="Tenant" list="tenants" value={name} onChange={(event) => setName(event.currentTarget.value)} w={260} />
      <datalist id="tenants">
        {known.data?.items.map(({ group }) => (
          <option key={group} value={group} />
        ))}
      </datalist>
      <Button type="submit" variant="default" disabled={name.trim() === "" || name.trim() === tenant}>
        Show limits
      </Button>
    </form>
  );
}

function OfTenant({ tenant }: { tenant: string }) {
  const path = `/v1/tenants/${encodeURIComponent(tenant)}/limits`;
  const query = useQuery({ queryKey: ["limits", tenant], queryFn: () => get<TenantLimits>(path), retry: false });
  return (
    <section aria-label={`Limits of ${visible(tenant)}`}>
      <div className="sec">
        <h2>Limits of {visible(tenant)}</h2>
      </div>
      <Loaded query={query}>{(limits) => <Form path={path} limits={limits} />}</Loaded>
    </section>
  );
}

function Form({ path, limits }: { path: string; limits: TenantLimits }) {
  const client = useQueryClient();
  const saved = draftOf(limits);
  const [changed, setChanged] = useState<Draft>({});
  const draft: Draft = { ...saved, ...changed };
  const edited = Object.keys(draft).some((name) => draft[name] !== saved[name]);
  const save = useMutation({
    mutationFn: () => put<TenantLimits>(path, bodyOf(draft)),
    onSuccess: (now) => {
      client.setQueryData(["limits", limits.tenant], now);
      setChanged({});
      void client.invalidateQueries({ queryKey: ["limits"], exact: true });
    },
  });
  const names = [...Object.keys(QUOTA_NAMES).filter((name) => limits.quotas[name] !== undefined), WEIGHT];
  const faults = faultsOf(save.error, names);
  return (
    <form
      className="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <SortedTable
        id="limits"
        label="Limits"
        look="wide wrap"
        columns={["Limit", "Maximum", { name: "In use", num: true }, { name: "Default", num: true }]}
        items={names}
        row={(name) => {
          const { word, used, usual, suffix } = shownOf(limits, name);
          return (
            <tr key={name}>
              <th scope="row">{word}</th>
              <td>
                <NumberInput
                  aria-label={`${word}, maximum`}
                  error={faults.at(name)}
                  min={name === WEIGHT ? 1 : 0}
                  step="any"
                  placeholder="Default"
                  suffix={suffix}
                  value={draft[name]}
                  onChange={(value) => setChanged({ ...changed, [name]: value })}
                  w={150}
                />
              </td>
              <td className="num">{used === null ? <span className="muted">–</span> : amount(name, used)}</td>
              <td className="num">{usual === null ? "No limit" : amount(name, usual)}</td>
            </tr>
          );
        }}
      />
      <span className="muted">
        An empty field means the default. 0 turns off the limit on running jobs, tokens and requests. Weight is how many jobs of this tenant start for each job of a tenant with weight 1.
      </span>
      {save.error === null ? null : <Failed error={save.error} faults={faults} />}
      {save.isSuccess && !edited ? (
        <Callout tone="good" role="status">
          The limits are saved. Every gateway uses them within a second.
        </Callout>
      ) : null}
      <span className="bar">
        <Button type="submit" disabled={!edited} loading={save.isPending}>
          Save limits
        </Button>
        <Button variant="default" disabled={!edited} onClick={() => setChanged({})}>
          Discard changes
        </Button>
      </span>
    </form>
  );
}
