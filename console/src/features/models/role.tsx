import { Button } from "@mantine/core";
import { toast } from "../../shared/page/toasts";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post, putOver, type Tagged } from "../../api/client";
import type { components } from "../../api/schema";
import type { Link, Models } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { BothVersions, useEdited } from "../../shared/editing/edited";
import { Failed } from "../../shared/page/loading-states";
import { took } from "../../shared/values/time";
import { Chain } from "./chain";
import { linesOf, nameOf, type Facts } from "./facts";

type Test = components["schemas"]["ModelTest"];

interface Props {
  role: string;
  now: Tagged<Models>;
  read: () => Promise<Tagged<Models>>;
  facts: Facts;
}

/** A role's chain: the first is called first. It is tested before it is saved. */
export function Role({ role, now, read, facts }: Props) {
  const chainOf = (models: Models): readonly Link[] => models.roles[role] ?? [];
  const edited = useEdited({
    name: `chain.${role}`,
    now,
    draftOf: chainOf,
    read,
    write: async (chain: readonly Link[], tag) => {
      const { warnings } = await putOver<{ warnings: string[] }>(`/v1/models/${role}`, { chain }, tag);
      for (const message of warnings) toast({ color: "yellow", message });
    },
  });
  const { draft: links, changed, change: setLinks } = edited;
  const [name, setName] = useState("");
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const test = useMutation({ mutationFn: (link: Link | undefined) => post<Test>(`/v1/models/${role}/test`, link === undefined ? undefined : { link }) });
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
        <Button variant="default" disabled={!admin} loading={test.isPending} title={admin ? "A short test question to the first model" : "Needs the admin scope"} onClick={() => test.mutate(changed ? links[0] : undefined)}>
          Test
        </Button>
        {changed ? (
          <Button variant="default" onClick={edited.drop}>
            Discard changes
          </Button>
        ) : null}
        <Button disabled={!admin || !changed || links.length === 0} loading={edited.saving} title={admin ? undefined : "Needs the admin scope"} onClick={edited.save}>
          Save
        </Button>
      </div>
      <Chain links={links} facts={facts} may={admin} onChange={setLinks} onTry={(link) => test.mutate(link)} />
      {admin ? (
        <form
          className="bar"
          onSubmit={(event) => {
            event.preventDefault();
            add();
          }}
        >
          <input className="plain-input mono" aria-label={`Another model for ${role}`} placeholder="provider/model" list="models" value={name} onChange={(event) => setName(event.currentTarget.value)} style={{ minWidth: 260 }} />
          <Button type="submit" variant="default">
            Add
          </Button>
        </form>
      ) : null}
      {test.data === undefined ? null : (
        <p className={`callout ${test.data.ok ? "good" : "bad"}`}>
          {test.data.provider === null || test.data.model === null ? "" : visible(nameOf({ provider: test.data.provider, model: test.data.model }))} {test.data.ok ? `answered in ${took(test.data.seconds)}` : visible(test.data.error ?? "did not answer")}
        </p>
      )}
      {edited.error === null ? null : <Failed error={edited.error} />}
      <BothVersions conflict={edited.conflict} saving={edited.saving} theirs={(models) => linesOf(chainOf(models))} mine={linesOf} />
      {test.error === null ? null : <Failed error={test.error} />}
    </section>
  );
}
