import { Button, Modal, Select } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { post, remove } from "../../api/client";
import type { KeyInfo } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Failed } from "../../shared/page/loading-states";
import { NewKey } from "./new-key";

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
    <Modal opened onClose={onClose} size={420} title={`Revoke “${visible(name)}”?`} role="alertdialog">
      <div className="stack">
        <span>
          Requests with this key and its sessions fail at once. This can’t be undone. <span className="mono muted">{id}</span>
        </span>
        {revoke.error === null ? null : <Failed error={revoke.error} />}
        <div className="dialog-foot">
          <Button variant="default" data-autofocus onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" loading={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke {visible(name)}
          </Button>
        </div>
      </div>
    </Modal>
  );
}

const OVERLAPS = [
  { value: "0", label: "Not at all" },
  { value: "3600", label: "For 1 hour" },
  { value: "86400", label: "For 1 day" },
  { value: "604800", label: "For 1 week" },
];

/** A key like the old one in its place; the old one stays good until whatever uses it has the new one. */
export function Rotate({ of: { id, name }, onClose, onDone }: Props) {
  const [overlap, setOverlap] = useState("86400");
  const rotate = useMutation({ mutationFn: () => post<{ key: string }>(`/v1/keys/${id}/rotate`, { overlap_seconds: Number(overlap) }), onSuccess: onDone });
  return (
    <Modal opened onClose={onClose} closeOnClickOutside={rotate.data === undefined} size={560} title={`Rotate “${visible(name)}”`}>
      {rotate.data === undefined ? (
        <div className="stack">
          <span>
            The new key has the same name, scopes and lifetime. <span className="mono muted">{id}</span>
          </span>
          <Select label="Old key stays valid" data={OVERLAPS} allowDeselect={false} value={overlap} onChange={(chosen) => setOverlap(chosen ?? overlap)} />
          {rotate.error === null ? null : <Failed error={rotate.error} />}
          <div className="dialog-foot">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
              Rotate {visible(name)}
            </Button>
          </div>
        </div>
      ) : (
        <NewKey value={rotate.data.key} onClose={onClose} />
      )}
    </Modal>
  );
}
