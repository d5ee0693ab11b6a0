import { Button, Select, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, post } from "../../api/client";
import type { KeyInfo, Page as PageOf } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { SCOPES } from "./scopes";
import { KeyTable } from "./table";
import { Tenants } from "./tenants";
import { Checkbox } from "../../shared/editing/checkbox";

const DAYS = [
  { value: "", label: "never" },
  { value: "1", label: "in a day" },
  { value: "30", label: "in 30 days" },
  { value: "365", label: "in a year" },
];

export function Page() {
  useTitle("Keys");
  const session = useSession();
  const admin = session?.scopes.includes("admin") ?? false;
  const may = admin || (session?.scopes.includes("tenant_admin") ?? false);
  const query = useQuery({ queryKey: ["keys"], queryFn: () => get<PageOf<KeyInfo>>("/v1/keys", { limit: 200 }), enabled: may });
  if (session !== undefined && !may) return <p className="callout">Keys are for who has the scope admin, or tenant_admin for those of the own tenant.</p>;
  return (
    <>
      <div className="head">
        <h1>Keys</h1>
        {session === undefined || admin ? null : <span className="muted">of the tenant {visible(session.tenant)}</span>}
      </div>
      <div className="cols">
        <Create key={session?.tenant} tenant={session?.tenant ?? "default"} admin={admin} onDone={() => void query.refetch()} />
        <div className="stack">
          <Loaded query={query}>{(page) => <KeyTable keys={page.items} own={session?.key_id} onDone={() => void query.refetch()} />}</Loaded>
          {admin ? <Tenants /> : null}
        </div>
      </div>
    </>
  );
}

/** Who administers one tenant makes keys for that one, and none that may more than that. */
function Create({ tenant, admin, onDone }: { tenant: string; admin: boolean; onDone: () => void }) {
  const [draft, setDraft] = useState({ tenant, name: "", scopes: ["read", "write"], days: "" });
  const make = useMutation({
    mutationFn: () => {
      const expires = draft.days === "" ? {} : { expires_at: new Date(Date.now() + Number(draft.days) * 86_400_000).toISOString() };
      return post<KeyInfo & { key: string }>("/v1/keys", { tenant: draft.tenant, name: draft.name, scopes: draft.scopes, ...expires });
    },
    onSuccess: onDone,
  });
  const faults = faultsOf(make.error, ["tenant", "name", "expires_at"]);
  return (
    <section className="panel stack" aria-label="New key">
      <h2>New key</h2>
      <TextInput label="Tenant" description={admin ? undefined : "A key with tenant_admin makes keys of its own tenant."} readOnly={!admin} error={faults.at("tenant")} value={draft.tenant} onChange={(event) => setDraft({ ...draft, tenant: event.currentTarget.value })} />
      <TextInput label="Name" error={faults.at("name")} placeholder="whose, or what for" value={draft.name} onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })} />
      {Object.entries(SCOPES).filter(([scope]) => admin || scope !== "admin").map(([scope, meaning]) => (
        <Checkbox
          key={scope}
          label={`${scope}: ${meaning}`}
          checked={draft.scopes.includes(scope)}
          onChange={(event) => setDraft({ ...draft, scopes: event.currentTarget.checked ? [...draft.scopes, scope] : draft.scopes.filter((each) => each !== scope) })}
        />
      ))}
      <Select label="Expires" error={faults.at("expires_at")} data={DAYS} value={draft.days} onChange={(days) => setDraft({ ...draft, days: days ?? "" })} />
      <span>
        <Button disabled={draft.name === "" || draft.scopes.length === 0} loading={make.isPending} onClick={() => make.mutate()}>
          Create
        </Button>
      </span>
      {make.error === null ? null : <Failed error={make.error} faults={faults} />}
      {make.data === undefined ? null : (
        <div className="callout good tight">
          <b>Keep it now: it is shown this once.</b>
          <code className="wrapped">{make.data.key}</code>
        </div>
      )}
    </section>
  );
}
