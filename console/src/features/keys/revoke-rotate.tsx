import { Button, Modal, Select } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post, remove } from "../../api/client";
import type { KeyInfo } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Failed } from "../../shared/page/loading-states";

interface Props {
  of: KeyInfo;
  onClose: () => void;
  onDone: () => void;
}

/** The end of a key, and of its sessions, at once. */
export function Revoke({ of: { id, name }, onClose, onDone }: Props) {
  const revoke = useMutation({
    mutationFn: () => remove(`/v1/keys/${id}`),
    onSuccess: () => {
      onClose();
      onDone();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Revoke ${visible(name)} (${id})?`}>
      <div className="stack">
        <span>Whatever uses it is refused at once, and so are its sessions. It cannot be undone.</span>
        {revoke.error === null ? null : <Failed error={revoke.error} />}
        <span className="bar">
          <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke {visible(name)}
          </Button>
          <Button variant="default" onClick={onClose}>
            Keep it
          </Button>
        </span>
      </div>
    </Modal>
  );
}

const OVERLAPS = [
  { value: "0", label: "not at all" },
  { value: "3600", label: "for an hour" },
  { value: "86400", label: "for a day" },
  { value: "604800", label: "for a week" },
];

/** A key like the old one in its place; the old one stays good until whatever uses it has the new one. */
export function Rotate({ of: { id, name }, onClose, onDone }: Props) {
  const [overlap, setOverlap] = useState("86400");
  const rotate = useMutation({ mutationFn: () => post<{ key: string }>(`/v1/keys/${id}/rotate`, { overlap_seconds: Number(overlap) }), onSuccess: onDone });
  return (
    <Modal opened onClose={onClose} closeOnClickOutside={rotate.data === undefined} title={`Rotate ${visible(name)} (${id})`}>
      {rotate.data === undefined ? (
        <div className="stack">
          <span>A new key has the same name, scopes and lifetime.</span>
          <Select label="The old one stays good" data={OVERLAPS} allowDeselect={false} value={overlap} onChange={(chosen) => setOverlap(chosen ?? overlap)} />
          {rotate.error === null ? null : <Failed error={rotate.error} />}
          <span className="bar">
            <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
              Rotate {visible(name)}
            </Button>
            <Button variant="default" onClick={onClose}>
              Keep it
            </Button>
          </span>
        </div>
      ) : (
        <div className="stack">
          <div className="callout good tight">
            <b>Keep it now: it is shown this once.</b>
            <code className="wrapped">{rotate.data.key}</code>
          </div>
          <span>
            <Button onClick={onClose}>I have it</Button>
          </span>
        </div>
      )}
    </Modal>
  );
}
