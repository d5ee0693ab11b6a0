import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, post, putOver, tagged, type Tagged } from "../../api/client";
import type { Link, Models, ProviderState } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/ansi";
import { Tag } from "../../shared/marks";
import { Conflict, useEdited } from "../../shared/edited";
import { cell } from "../../shared/numbers";
import { Fault, faultsOf } from "../../shared/faults";
import { Failed, Loaded } from "../../shared/states";
import { took } from "../../shared/time";
import { useTitle } from "../../shared/title";
import { Providers } from "./providers";

interface Test {
  ok: boolean;
  provider: string | null;
  model: string | null;
  seconds: number;
  error?: string | null;
}

export function Page() {
  useTitle("Models");
  const models = useQuery({ queryKey: ["models", "tagged"], queryFn: () => tagged<Models>("/v1/models") });
  const read = async (): Promise<Tagged<Models>> => (await models.refetch({ throwOnError: true })).data!;
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
        <Loaded query={models}>
          {(now) => Object.keys(now.value.roles).map((role) => <Role key={role} role={role} now={now} read={read} />)}
        </Loaded>
      </div>
    </>
  );
}

/** A role's chain: the first is asked first. Its order is changed by buttons, so by keys as well. */
function Role({ role, now, read }: { role: string; now: Tagged<Models>; read: () => Promise<Tagged<Models>> }) {
  const chainOf = (models: Models): readonly Link[] => models.roles[role] ?? [];
  const edited = useEdited({
    now,
    draftOf: chainOf,
    read,
    write: async (chain: readonly Link[], tag) => {
      const { warnings } = await putOver<{ warnings: string[] }>(`/v1/models/${role}`, { chain }, tag);
      for (const message of warnings) notifications.show({ color: "yellow", message });
    },
  });
  const { draft: links, change: setLinks, changed } = edited;
  const [available, retired] = [namesOf(now.value), retiredOf(now.value)];
  const faults = faultsOf(edited.error, links.map((_, index) => `chain.${index}`));
  const [name, setName] = useState("");
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const test = useMutation({ mutationFn: () => post<Test>(`/v1/models/${role}/test`, changed ? { link: links[0] } : undefined) });
  const move = (index: number, step: number): void => {
    const next = [...links];
    const [link] = next.splice(index, 1);
    next.splice(index + step, 0, link!);
    setLinks(next);
  };
  const add = (): void => {
    const [provider, ...rest] = name.split("/");
    if (provider === undefined || provider === "" || rest.length === 0) return;
    setLinks([...links, { provider, model: rest.join("/"), parameters: {} }]);
    setName("");
  };
  return (
    <section className="panel stack" aria-label={`Role ${role}`}>
      <div className="head">
        <h2>{role}</h2>
        <span className="spacer" />
        <Button variant="default" disabled={!admin} loading={test.isPending} title={admin ? "A small question to the first, saved or not" : "needs scope admin"} onClick={() => test.mutate()}>
          Test
        </Button>
        <Button disabled={!admin || !changed || links.length === 0} loading={edited.saving} title={admin ? undefined : "needs scope admin"} onClick={edited.save}>
          Save
        </Button>
      </div>
      <ol className="tight plain-list">
        {links.map((link, index) => (
          <li key={`${link.provider}/${link.model}`} className="bar" aria-describedby={faults.at(`chain.${index}`) === undefined ? undefined : `${role}-${index}`}>
            <span className="muted">{index + 1}</span>
            <b className="mono">
              {visible(link.provider)}/{visible(link.model)}
            </b>
            {Object.keys(link.parameters ?? {}).length === 0 ? null : <span className="muted">{visible(wordsOf(link.parameters ?? {}))}</span>}
            {retired.has(`${link.provider}/${link.model}`) ? <Tag tone="warn">its vendor ends it: {retired.get(`${link.provider}/${link.model}`)}</Tag> : null}
            <Fault id={`${role}-${index}`} text={faults.at(`chain.${index}`)} />
            <span className="spacer" />
            <button type="button" className="link" disabled={!admin || index === 0} aria-label={`Ask ${link.provider} earlier`} onClick={() => move(index, -1)}>
              up
            </button>
            <button type="button" className="link" disabled={!admin || index === links.length - 1} aria-label={`Ask ${link.provider} later`} onClick={() => move(index, 1)}>
              down
            </button>
            <button type="button" className="link" disabled={!admin} aria-label={`Remove ${link.provider}/${link.model}`} onClick={() => setLinks(links.filter((each) => each !== link))}>
              remove
            </button>
          </li>
        ))}
      </ol>
      {admin ? (
        <form
          className="bar"
          onSubmit={(event) => {
            event.preventDefault();
            add();
          }}
        >
          <input className="plain-input mono" aria-label={`Another model for ${role}`} placeholder="provider/model" list="models" value={name} onChange={(event) => setName(event.currentTarget.value)} style={{ minWidth: 260 }} />
          <datalist id="models">
            {available.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <Button type="submit" variant="default">
            Add
          </Button>
        </form>
      ) : null}
      {test.data === undefined ? null : (
        <p className={`callout ${test.data.ok ? "good" : "bad"}`}>
          {test.data.provider}/{test.data.model} {test.data.ok ? `answered in ${took(test.data.seconds)}` : visible(test.data.error ?? "did not answer")}
        </p>
      )}
      {edited.error === null ? null : <Failed error={edited.error} faults={faults} />}
      <Conflict edited={edited} draftOf={chainOf} textOf={linesOf} />
      {test.error === null ? null : <Failed error={test.error} />}
    </section>
  );
}

/** A chain as text, a line for each link: for a difference. */
function linesOf(chain: readonly Link[]): string {
  return chain.map(({ provider, model, parameters }) => `${provider}/${model} ${wordsOf(parameters ?? {})}`.trimEnd()).join("\n");
}

/** "temperature 1, reasoning effort low". */
function wordsOf(parameters: Readonly<Record<string, unknown>>): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${cell(value)}`)
    .join(", ");
}

/** Models that their vendors end, with the day. */
function retiredOf(models: Models): ReadonlyMap<string, string> {
  return new Map(models.available.flatMap(({ provider, model, retired }) => (retired ? [[`${String(provider)}/${String(model)}`, String(retired)] as const] : [])));
}

function namesOf(models: Models): string[] {
  return models.available.map((each) => `${String(each.provider)}/${String(each.model ?? each.name ?? each.id)}`);
}
