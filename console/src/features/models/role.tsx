import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { post, put } from "../../api/client";
import type { components } from "../../api/schema";
import type { Link } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/ansi";
import { Failed } from "../../shared/states";
import { took } from "../../shared/time";
import { Chain } from "./chain";
import { nameOf, type Facts } from "./facts";

type Test = components["schemas"]["ModelTest"];

interface Props {
  role: string;
  chain: readonly Link[];
  tag: string | null;
  facts: Facts;
}

/** A role's chain: the first is asked first. It is tried before it is saved. */
export function Role({ role, chain, tag, facts }: Props) {
  // Null while nothing is changed: then it follows what is saved, and a test's answer outlives the save before it.
  const [draft, setLinks] = useState<readonly Link[] | null>(null);
  const links = draft ?? chain;
  const [name, setName] = useState("");
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const client = useQueryClient();
  const changed = JSON.stringify(links) !== JSON.stringify(chain);
  const save = useMutation({
    mutationFn: () => put<{ warnings: string[] }>(`/v1/models/${role}`, { chain: links }, tag === null ? {} : { "If-Match": tag }),
    onSuccess: async (answer) => {
      for (const message of answer.warnings) notifications.show({ color: "yellow", message });
      await client.invalidateQueries({ queryKey: ["models"] });
      setLinks(null);
    },
  });
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
        <Button variant="default" disabled={!admin} loading={test.isPending} title={admin ? "A small question to the first, saved or not" : "needs scope admin"} onClick={() => test.mutate(changed ? links[0] : undefined)}>
          Test
        </Button>
        {changed ? (
          <Button variant="default" onClick={() => setLinks(null)}>
            As it was
          </Button>
        ) : null}
        <Button disabled={!admin || !changed || links.length === 0} loading={save.isPending} title={admin ? undefined : "needs scope admin"} onClick={() => save.mutate()}>
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
      {save.error === null ? null : <Failed error={save.error} />}
      {test.error === null ? null : <Failed error={test.error} />}
    </section>
  );
}
