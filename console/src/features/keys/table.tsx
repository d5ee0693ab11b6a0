import { Menu } from "@mantine/core";
import { Ellipsis, RotateCcw, Trash2 } from "lucide-react";
import { useState } from "react";
import type { KeyInfo } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Icon } from "../../shared/values/icon";
import { Tag } from "../../shared/values/marks";
import { When } from "../../shared/values/time";
import { Revoke, Rotate } from "./revoke-rotate";
import { SCOPES } from "./scopes";
import { SortedTable } from "../../shared/tables/sorted-table";

/** All keys that one may see; each is revoked at once, or replaced by another that the old one outlives for a while. */
export function KeyTable({ keys, own, onDone }: { keys: readonly KeyInfo[]; own: string | undefined; onDone: () => void }) {
  const [asked, setAsked] = useState<{ key: KeyInfo; to: "revoke" | "rotate" } | null>(null);
  const [all, setAll] = useState(false);
  // Every sign-in makes one, and ends by itself.
  const shown = all ? keys : keys.filter((key) => !key.parent_id || key.id === own);
  const left = keys.length - shown.length;
  return (
    <>
      <SortedTable
        id="keys"
        label="Keys"
        frame="tall"
        columns={[
          { name: "Name", by: (row) => row.name },
          { name: "Key ID", by: (row) => row.id },
          { name: "Tenant", by: (row) => row.tenant },
          { name: "Scopes", by: (row) => row.scopes.length },
          { name: "Created", num: true, by: (row) => row.created_at },
          { name: "Last used", num: true, by: (row) => row.last_used_at },
          { name: "Expires", num: true, by: (row) => row.revoked_at ?? row.expires_at },
          "",
        ]}
        items={shown}
        row={(key) => (
          <tr key={key.id}>
            <td>
              <span className="medium">{visible(key.name)}</span> {key.id === own ? <Tag tone="accent">This browser</Tag> : key.parent_id ? <Tag>Session</Tag> : null}
            </td>
            <td className="mono muted">{key.id}</td>
            <td>{key.tenant}</td>
            <td>
              <span className="bar">
                {key.scopes.map((scope) => (
                  <Tag key={scope} tone={scope === "admin" || scope === "tenant_admin" ? "warn" : ""} title={SCOPES[scope]}>
                    {scope}
                  </Tag>
                ))}
              </span>
            </td>
            <td className="num muted">
              <When at={key.created_at} />
            </td>
            <td className="num">{key.last_used_at ? <When at={key.last_used_at} /> : <span className="warn">Never</span>}</td>
            <td className="num">{key.revoked_at ? <Tag tone="bad">Revoked</Tag> : key.expires_at ? <When at={key.expires_at} /> : "Never"}</td>
            <td className="actions">
              {key.revoked_at ? null : (
                <Menu>
                  <Menu.Target>
                    <button type="button" className="icon-button" aria-label={`Actions for ${visible(key.name)}`}>
                      <Icon of={Ellipsis} />
                    </button>
                  </Menu.Target>
                  <Menu.Dropdown>
                    {key.parent_id ? null : (
                      <Menu.Item leftSection={<Icon of={RotateCcw} />} onClick={() => setAsked({ key, to: "rotate" })}>
                        Rotate…
                      </Menu.Item>
                    )}
                    <Menu.Item color="red" leftSection={<Icon of={Trash2} />} onClick={() => setAsked({ key, to: "revoke" })}>
                      Revoke…
                    </Menu.Item>
                  </Menu.Dropdown>
                </Menu>
              )}
            </td>
          </tr>
        )}
      />
      {asked?.to === "revoke" ? <Revoke of={asked.key} onClose={() => setAsked(null)} onDone={onDone} /> : null}
        {asked?.to === "rotate" ? <Rotate of={asked.key} onClose={() => setAsked(null)} onDone={onDone} /> : null}
      {left === 0 && !all ? null : (
        <button type="button" className="link" onClick={() => setAll(!all)}>
          {all ? "Hide browser sessions" : `Show ${left} browser ${left === 1 ? "session" : "sessions"}`}
        </button>
      )}
    </>
  );
}
