import { Button, Modal, Select, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { get, post } from "../../api/client";
import type { KeyInfo, Page as PageOf } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { Callout } from "../../shared/page/callout";
import { Icon } from "../../shared/values/icon";
import { NewKey } from "./new-key";
import { SCOPES } from "./scopes";
import { KeyTable } from "./table";
import { Tenants } from "./tenants";
import { Checkbox } from "../../shared/editing/checkbox";

const DAYS = [
  { value: "", label: "Never" },
  { value: "1", label: "In 1 day" },
  { value: "30", label: "In 30 days" },
  { value: "365", label: "In 1 year" },
];

export function Page() {
  useTitle("Keys");
  const session = useSession();
  const admin = session?.scopes.includes("admin") ?? false;
  const may = admin || (session?.scopes.includes("tenant_admin") ?? false);
  const query = useQuery({ queryKey: ["keys"], queryFn: () => get<PageOf<KeyInfo>>("/v1/keys", { limit: 200 }), enabled: may });
  const [creating, setCreating] = useState(false);
  if (session !== undefined && !may) {
    return (
      <>
        <div className="head">
          <h1>Keys</h1>
        </div>
        <Callout>You need the admin or tenant_admin scope to manage keys.</Callout>
      </>
    );
  }
  return (
    <>
      <div className="head">
        <h1>Keys</h1>
        {session === undefined || admin ? null : <span className="muted">of tenant {visible(session.tenant)}</span>}
        <span className="spacer" />
        <Button leftSection={<Icon of={Plus} />} onClick={() => setCreating(true)}>
          New key
        </Button>
      </div>
      <div className="sections">
        <Loaded query={query}>{(page) => <KeyTable keys={page.items} own={session?.key_id} onDone={() => void query.refetch()} />}</Loaded>
        {admin ? <Tenants /> : null}
      </div>
      {creating ? <Create tenant={session?.tenant ?? "default"} admin={admin} onClose={() => setCreating(false)} onDone={() => void query.refetch()} /> : null}
    </>
  );
}

/** Who administers one tenant makes keys for that one, and none that may more than that. */
function Create({ tenant, admin, onClose, onDone }: { tenant: string; admin: boolean; onClose: () => void; onDone: () => void }) {
  const [draft, setDraft] = useState({ tenant, name: "", scopes: ["read", "write"], days: "" });
  const make = useMutation({
    mutationFn: () => {
      const expires = draft.days === "" ? {} : { expires_at: new Date(Date.now() + Number(draft.days) * 86_400_000).toISOString() };
      return post<KeyInfo & { key: string }>("/v1/keys", { tenant: draft.tenant, name: draft.name, scopes: draft.scopes, ...expires });
    },
    onSuccess: onDone,
  });
  const faults = faultsOf(make.error, ["tenant", "name", "expires_at"]);
  if (make.data !== undefined) {
    return (
      <Modal opened onClose={onClose} closeOnClickOutside={false} closeOnEscape={false} size={560} title="Key created">
        <NewKey value={make.data.key} onClose={onClose} />
      </Modal>
    );
  }
  return (
    <Modal opened onClose={onClose} title="New key">
      <form
        className="stack"
        aria-label="New key"
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate();
        }}
      >
        <TextInput label="Name" data-autofocus error={faults.at("name")} placeholder="e.g. billing-service" value={draft.name} onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })} />
        <TextInput label="Tenant" description={admin ? undefined : "A key with tenant_admin creates keys of its own tenant."} readOnly={!admin} error={faults.at("tenant")} value={draft.tenant} onChange={(event) => setDraft({ ...draft, tenant: event.currentTarget.value })} />
        <fieldset className="tight">
          <legend className="small">Scopes</legend>
          {Object.entries(SCOPES)
            .filter(([scope]) => admin || scope !== "admin")
            .map(([scope, meaning]) => (
              <Checkbox
                key={scope}
                label={scope}
                description={meaning}
                checked={draft.scopes.includes(scope)}
                onChange={(event) => setDraft({ ...draft, scopes: event.currentTarget.checked ? [...draft.scopes, scope] : draft.scopes.filter((each) => each !== scope) })}
              />
            ))}
        </fieldset>
        <Select label="Expires" error={faults.at("expires_at")} description={draft.days === "" ? undefined : new Date(Date.now() + Number(draft.days) * 86_400_000).toDateString()} data={DAYS} value={draft.days} onChange={(days) => setDraft({ ...draft, days: days ?? "" })} />
        {make.error === null ? null : <Failed error={make.error} faults={faults} />}
        <div className="dialog-foot">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={draft.name === "" || draft.scopes.length === 0} loading={make.isPending}>
            Create key
          </Button>
        </div>
      </form>
    </Modal>
  );
}
