import { Button, CopyButton, Modal, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Copy, Eye, EyeOff, Plus, Trash2, Webhook } from "lucide-react";
import { useState } from "react";
import { get, post, remove } from "../../api/client";
import type { components } from "../../api/schema";
import type { Page as PageOf } from "../../api/types";
import { faultsOf } from "../../shared/editing/field-errors";
import { Segmented } from "../../shared/editing/segmented";
import { WriteButton } from "../../shared/editing/write-button";
import { Empty, Failed, Loaded } from "../../shared/page/loading-states";
import { SortedTable } from "../../shared/tables/sorted-table";
import { Icon } from "../../shared/values/icon";
import { When } from "../../shared/values/time";

type Secret = components["schemas"]["WebhookSecret"];

const MAX_SECRETS = 2;
const PATH = "/v1/webhooks/secrets";

/** The secrets that this tenant's webhooks are signed with: two are valid while one replaces the other. */
export function Webhooks() {
  const query = useQuery({ queryKey: ["webhook-secrets"], queryFn: () => get<PageOf<Secret>>(PATH) });
  const [adding, setAdding] = useState(false);
  const [deleted, setDeleted] = useState<Secret | null>(null);
  return (
    <section aria-label="Webhook secrets" className="stack">
      <Loaded query={query} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              title="No webhook secrets yet"
              icon={Webhook}
              actions={
                <WriteButton leftSection={<Icon of={Plus} />} onClick={() => setAdding(true)}>
                  Add secret
                </WriteButton>
              }
            >
              Assay signs each webhook with a secret of your tenant, so that the receiver can check it. The first delivery creates one; add it now to set up the receiver first.
            </Empty>
          ) : (
            <>
              <div className="sec" style={{ margin: 0 }}>
                <h2>Webhook secrets</h2>
                <span className="spacer" />
                <WriteButton leftSection={<Icon of={Plus} />} disabled={items.length >= MAX_SECRETS} title={items.length >= MAX_SECRETS ? "Delete the secret that the receiver no longer needs first" : undefined} onClick={() => setAdding(true)}>
                  Add secret
                </WriteButton>
              </div>
              <span className="muted">
                Every webhook carries a signature for each secret. To replace one: add a second secret, let the receiver accept both, then delete the first.
              </span>
              <SortedTable
                id="secrets"
                label="Secrets"
                columns={["Secret", { name: "Created", num: true, by: (row) => row.created_at }, "Secret ID", ""]}
                items={items}
                row={(secret) => (
                  <Row key={secret.id} secret={secret} onDelete={() => setDeleted(secret)} />
                )}
              />
            </>
          )
        }
      </Loaded>
      {adding ? <Add onClose={() => setAdding(false)} /> : null}
      {deleted === null ? null : <Delete of={deleted} isLast={query.data?.items.length === 1} onClose={() => setDeleted(null)} />}
    </section>
  );
}

function Row({ secret: { id, secret, created_at }, onDelete }: { secret: Secret; onDelete: () => void }) {
  const [shown, setShown] = useState(false);
  return (
    <tr>
      <td>
        <span className="bar" style={{ flexWrap: "nowrap" }}>
          <code className="mono">{shown ? secret : `${secret.slice(0, "whsec_".length)}••••••••`}</code>
          <button type="button" className="icon-button" aria-pressed={shown} aria-label={`Show secret ${id}`} onClick={() => setShown(!shown)}>
            <Icon of={shown ? EyeOff : Eye} />
          </button>
          <CopyButton value={secret}>
            {({ copied, copy }) => (
              <button type="button" className="icon-button" aria-label={copied ? `Copied secret ${id}` : `Copy secret ${id}`} title={copied ? "Copied" : "Copy"} onClick={copy}>
                <Icon of={Copy} />
              </button>
            )}
          </CopyButton>
        </span>
      </td>
      <td className="num muted">
        <When at={created_at} />
      </td>
      <td className="mono muted">{id}</td>
      <td className="actions">
        <button type="button" className="icon-button" aria-label={`Delete secret ${id}`} onClick={onDelete}>
          <Icon of={Trash2} />
        </button>
      </td>
    </tr>
  );
}

function Add({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [from, setFrom] = useState<"generated" | "own">("generated");
  const [value, setValue] = useState("");
  const add = useMutation({
    mutationFn: () => post<Secret>(PATH, from === "generated" ? {} : { secret: value.trim() }),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["webhook-secrets"] });
      onClose();
    },
  });
  const faults = faultsOf(add.error, ["secret"]);
  return (
    <Modal opened onClose={onClose} title="Add webhook secret">
      <form
        className="stack"
        aria-label="Add webhook secret"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate();
        }}
      >
        <Segmented
          label="Secret"
          value={from}
          onChange={setFrom}
          choices={[
            { value: "generated", label: "Generate" },
            { value: "own", label: "Use my own" },
          ]}
        />
        {from === "own" ? <TextInput label="Own secret" description="whsec_ and the base64 of 24 to 64 random bytes" placeholder="whsec_…" error={faults.at("secret")} autoComplete="off" spellCheck={false} classNames={{ input: "mono" }} value={value} onChange={(event) => setValue(event.currentTarget.value)} /> : null}
        {add.error === null ? null : <Failed error={add.error} faults={faults} />}
        <div className="dialog-foot">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={from === "own" && value.trim() === ""} loading={add.isPending}>
            Add secret
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function Delete({ of: { id }, isLast, onClose }: { of: Secret; isLast: boolean; onClose: () => void }) {
  const client = useQueryClient();
  const gone = useMutation({
    mutationFn: () => remove(`${PATH}/${id}`),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["webhook-secrets"] });
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} size={420} title="Delete this secret?" role="alertdialog">
      <div className="stack">
        <span>
          Webhooks are no longer signed with it at once. {isLast ? "It is the only one: the next delivery creates another, which receivers do not know yet." : "Receivers that know only this secret refuse them."} This can’t be undone. <span className="mono muted">{id}</span>
        </span>
        {gone.error === null ? null : <Failed error={gone.error} />}
        <div className="dialog-foot">
          <Button variant="default" data-autofocus onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" loading={gone.isPending} onClick={() => gone.mutate()}>
            Delete secret
          </Button>
        </div>
      </div>
    </Modal>
  );
}
