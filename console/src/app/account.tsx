import { Menu, useMantineColorScheme } from "@mantine/core";
import { Check, ChevronsUpDown } from "lucide-react";
import type { Session } from "../api/types";
import { Icon } from "../shared/values/icon";
import { TIMES, useTimes } from "../shared/values/time";
import { SCHEMES, TIME_NAMES } from "./navigation";
import { signOut } from "./sign-out";

/** Whose console this is, how it looks, and the way out. */
export function Account({ session }: { session: Session | undefined }) {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [times, setTimes] = useTimes();
  const tenant = session?.tenant ?? "Account";
  return (
    <Menu position="top-start">
      <Menu.Target>
        <button type="button" aria-label={session === undefined ? "Account" : `${tenant}, account menu`}>
          <span className="avatar" data-letter={tenant.charAt(0)} aria-hidden="true" />
          <span className="grow">{tenant}</span>
          <span className="last">
            <Icon of={ChevronsUpDown} size={14} />
          </span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {session === undefined ? null : (
          <Menu.Label>
            {tenant} tenant
            <br />
            {session.name}: {session.scopes.join(", ")}
          </Menu.Label>
        )}
        <Menu.Divider />
        <Menu.Label>Theme</Menu.Label>
        {SCHEMES.map(({ scheme, name }) => (
          <Menu.Item key={scheme} rightSection={colorScheme === scheme ? <Icon of={Check} size={14} /> : null} onClick={() => setColorScheme(scheme)}>
            {name}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>Timestamps</Menu.Label>
        {TIMES.map((each) => (
          <Menu.Item key={each} rightSection={times === each ? <Icon of={Check} size={14} /> : null} onClick={() => setTimes(each)}>
            {TIME_NAMES[each]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item component="a" href="/docs">
          API documentation
        </Menu.Item>
        <Menu.Item onClick={() => void signOut()}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
