import { Button, CopyButton } from "@mantine/core";
import { Copy } from "lucide-react";
import { Callout } from "../../shared/page/callout";
import { Code } from "../../shared/code/code";
import { Icon } from "../../shared/values/icon";

/** A key that was just made: shown once, to be copied, with a first request that uses it. */
export function NewKey({ value, onClose }: { value: string; onClose: () => void }) {
  return (
    <div className="stack">
      <Callout tone="good" className="tight">
        <b>Copy this key now. You won’t see it again.</b>
      </Callout>
      <div className="bar line">
        <code className="secret clip">{value}</code>
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <Button variant="default" leftSection={<Icon of={Copy} />} onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
      </div>
      <div className="tight">
        <span className="small medium">Try it</span>
        <Code text={`curl -s ${location.origin}/v1/jobs \\\n  -H "Authorization: Bearer ${value}"`} />
      </div>
      <div className="dialog-foot">
        <Button onClick={onClose}>Done</Button>
      </div>
    </div>
  );
}
